// Light or dark: as the system says, until the button says otherwise.

export function setUpTheme(button, changed) {
  const root = document.documentElement, kept = localStorage.getItem("theme");
  if (kept) root.dataset.theme = kept;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    changed();
  });
}
