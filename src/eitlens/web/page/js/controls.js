// The controls around the board: they show what the page knows, and change it.

import { all, byId, html, short } from "./dom.js";
import { fitted } from "./draw/bodies.js";
import { randomShapes } from "./draw/shapes.js";
import { HINTS } from "./draw/tools.js";

/** What a button or a key can do to the state. */
export const actionsOn = (store) => ({
  tool: (tool) => store.set({ tool }),
  currents: (currents) => store.set({ currents }),
  undo: () => store.undo(),
  redo: () => store.redo(),
  delete: () => store.selected && store.remove(store.state.selected),
  clear: () => store.draw([], null),
  random: () => store.draw(randomShapes(kinds(store.state), (shape) => fitted(shape, store.outline)), null),
  again: () => store.set({ seed: 1 + Math.floor(1e9 * Math.random()) }),
  back: () => store.set({ file: null }),
  open: () => store.state.mode === "tank" ? openTank() : byId("file").click(),
  help: () => byId("help-dialog").showModal(),
});

function openTank() {
  byId("open-reason").hidden = true;
  byId("open-dialog").showModal();
}

/** Conductivities of random shapes: in a tank some conduct better and some worse. */
const kinds = ({ mode, conductivity }) => (mode === "tank" ? [conductivity, 1 / conductivity] : [conductivity]);

export function setUpControls(store, { tool, currents, ...buttons }) {
  for (const [id, action] of Object.entries(buttons)) byId(id).addEventListener("click", () => action());
  for (const button of all("[data-tool]")) button.addEventListener("click", () => tool(button.dataset.tool));
  for (const radio of all('[name="currents"]')) radio.addEventListener("change", () => currents(Number(radio.value)));
  byId("again-tank").addEventListener("click", () => buttons.again());
  slide("tau", (percent, moving) => {
    // Squared: fine steps where there is little noise. The last step is asked for again, in full.
    store.set({ tau: Number(((percent / 100) ** 2).toPrecision(2)) }, { live: moving, ended: !moving });
  });
  slide("sigma", conductivitySlider(store));
  byId("file").addEventListener("change", () => {
    const [file] = byId("file").files;
    byId("file").value = ""; // or the same file, changed in the meantime, could not be opened again
    if (file) store.set({ file, selected: null });
  });
}

function slide(id, change) {
  byId(id).addEventListener("input", () => change(Number(byId(id).value), true));
  byId(id).addEventListener("change", () => change(Number(byId(id).value), false));
}

/** Sets the conductivity of new shapes and of the selected one, as one change from the first move to the last. */
function conductivitySlider(store) {
  let sliding = false;
  return (power, moving) => {
    const conductivity = Number((10 ** power).toPrecision(2)), shape = store.selected;
    store.set({ conductivity });
    if (!shape) return;
    if (!sliding) store.remember();
    sliding = moving;
    store.replace({ ...shape, conductivity }, { live: moving, remembered: true });
  };
}

/** A box to tick for each network. */
export function setUpNetworks(store, names) {
  const box = (name) => html("input", { type: "checkbox", value: name, checked: store.state.models.includes(name) });
  const boxes = names.map(box), chosen = () => boxes.filter((one) => one.checked).map((one) => one.value);
  for (const one of boxes) one.addEventListener("change", () => store.set({ models: chosen() }));
  const chips = boxes.map((one) => html("label", { className: "chip" }, one, html("span", {}, one.value)));
  byId("models").replaceChildren(...(names.length ? chips : ["No trained network is installed."]));
}

/** Light or dark: as the system says, until the button says otherwise. */
export function setUpTheme(changed) {
  const root = document.documentElement, kept = localStorage.getItem("theme");
  if (kept) root.dataset.theme = kept;
  const system = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = (root.dataset.theme ?? system()) === "dark" ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    changed();
  });
}

export function showTool(tool) {
  for (const button of all("[data-tool]")) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
  byId("board-help").textContent = HINTS[tool];
  byId("board").classList.toggle("select", tool === "select");
}

export function showControls({ canUndo, canRedo, state }) {
  byId("undo").disabled = !canUndo;
  byId("redo").disabled = !canRedo;
  byId("delete").disabled = !state.selected;
  byId("back").hidden = !state.file;
  document.body.dataset.mode = state.mode;
  all(`[name="mode"][value="${state.mode}"]`)[0].checked = true;
  byId("board").classList.toggle("aside", Boolean(state.file));
  const percent = short(100 * state.tau), conductivity = short(state.conductivity);
  showSlider("sigma", Math.log10(state.conductivity), conductivity, conductivity);
  showSlider("tau", Math.round(100 * Math.sqrt(Math.min(1, state.tau))), `${percent} %`, `${percent} percent`);
  all(`[name="currents"][value="${state.currents}"]`)[0].checked = true;
}

function showSlider(id, value, text, spoken) {
  byId(id).value = value;
  byId(`${id}-value`).textContent = text;
  byId(id).setAttribute("aria-valuetext", spoken);
}
