// The controls of tanks: the tank itself, the noise, the methods, and the form that opens files.

import { all, byId, html } from "../dom.js";

const FIELDS = { body: "tank-body", electrodes: "tank-electrodes", pattern: "tank-pattern", coverage: "tank-coverage" };

export function setUpTank(store, { methods, most }) {
  for (const [key, id] of Object.entries(FIELDS)) {
    byId(id).addEventListener("change", () => {
      const value = ["electrodes", "coverage"].includes(key) ? Number(byId(id).value) : byId(id).value;
      store.set({ tank: { ...store.state.tank, [key]: value }, file: null, stimulation: 0 });
    });
  }
  for (const kind of ["input", "change"]) {
    byId("snr").addEventListener(kind, () => {
      store.set({ snr: -Number(byId("snr").value), file: null }, { live: kind === "input", ended: kind === "change" });
    });
  }
  byId("stimulation").addEventListener("input", () => store.set({ stimulation: Number(byId("stimulation").value) }));
  byId("changes").addEventListener("click", (event) => {
    const { top, height } = byId("changes").getBoundingClientRect();
    const rows = Number(byId("stimulation").max) + 1;
    store.set({ stimulation: Math.min(rows - 1, Math.max(0, Math.floor(((event.clientY - top) / height) * rows))) });
  });
  for (const tab of all("[data-readings]")) {
    tab.addEventListener("click", () => store.set({ readingKind: tab.dataset.readings }));
  }
  chips(store, methods, most);
  openForm(store);
}

/** A box to tick for each method, so many of them at once. */
function chips(store, methods, most) {
  const box = ({ name }) =>
    html("input", { type: "checkbox", value: name, checked: store.state.methods.includes(name) });
  const boxes = methods.map(box), chosen = () => boxes.filter((one) => one.checked).map((one) => one.value);
  for (const one of boxes) {
    one.addEventListener("change", () => {
      if (chosen().length > most) one.checked = false;
      else store.set({ methods: chosen() });
    });
  }
  const label = (one, k) => html("label", { className: "chip" }, one, html("span", {}, methods[k].title));
  byId("methods").replaceChildren(...boxes.map(label));
}

/** Shows what the page knows of the tank. */
export function showTankControls({ tank, snr }) {
  for (const [key, id] of Object.entries(FIELDS)) byId(id).value = String(tank[key]);
  const percent = Number((100 * 10 ** (-snr / 20)).toPrecision(2)), words = `${percent} % (${snr} dB)`;
  byId("snr").value = -snr; // to the right there is more noise
  byId("snr").setAttribute("aria-valuetext", `${percent} percent of the readings`);
  byId("snr-value").textContent = words;
}

/** The form: frames, what they are compared with, and what the files do not say. */
function openForm(store) {
  const dialog = byId("open-dialog"), files = (id) => [...byId(id).files];
  const reference = () => all('[name="against"]').find((one) => one.checked).value;
  for (const radio of all('[name="against"]')) {
    radio.addEventListener("change", () => {
      byId("water").disabled = reference() !== "file";
      byId("first-frames").disabled = reference() !== "frames";
    });
  }
  byId("open-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const against = reference(), chosen = files("frames");
    const file = {
      name: chosen.length > 1 ? `${chosen.length} files` : chosen[0].name,
      files: chosen.toSorted((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })),
      reference: against === "file" ? files("water") : [],
      reference_frames: against === "frames" ? Number(byId("first-frames").value) : 0,
      setup: setup(),
    };
    dialog.close();
    store.set({ file, selected: null, frame: 0, stimulation: 0, latest: null });
  });
  byId("open-cancel").addEventListener("click", () => dialog.close());
}

/** What the form says of the tank; fields that are empty say nothing. */
function setup() {
  const said = all("[data-setup]").map((
    field,
  ) => [field.dataset.setup, field.type === "checkbox" ? field.checked || "" : field.value]);
  const number = (key, value) => (["electrodes", "first", "coverage"].includes(key) ? Number(value) : value);
  return Object.fromEntries(said.filter(([, value]) => value !== "").map(([key, value]) => [key, number(key, value)]));
}

/** A refusal of a file, in the form that it came from. */
export function refuseFile(reason) {
  byId("open-reason").textContent = `${reason}. Say below what the file does not.`;
  byId("open-reason").hidden = false;
  byId("open-more").open = true;
  byId("open-dialog").showModal();
}
