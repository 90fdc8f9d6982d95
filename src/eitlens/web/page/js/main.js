// Everything together: the state, the controls that change it, and the picture that follows.

import { Board } from "./board.js";
import { untilItBreaks } from "./breaker.js";
import { diverging, sequential } from "./colours.js";
import { chart } from "./curves.js";
import { start } from "./engine.js";
import { clear, paint } from "./field.js";
import { download, measurement, picture } from "./files.js";
import { short, toWire } from "./geometry.js";
import { listen } from "./keyboard.js";
import { Live } from "./live.js";
import { randomShapes } from "./random.js";
import { render } from "./results.js";
import { Store } from "./store.js";
import { setUpTheme } from "./theme.js";
import { HINTS, Tools, named } from "./tools.js";

const $ = (id) => document.getElementById(id);
const FIRST = [
  { kind: "ellipse", center: [0.4, 0.42], axes: [0.34, 0.2], angle: 0.6, sigma: 10 },
  { kind: "ellipse", center: [-0.45, -0.4], axes: [0.2, 0.28], angle: 0.3, sigma: 10 },
  { kind: "ellipse", center: [-0.42, 0.45], axes: [0.26, 0.18], angle: 2.6, sigma: 10 },
];

const store = new Store({ shapes: FIRST.map(named), selected: null, tool: "ellipse", sigma: 10, currents: 3, tau: 0, seed: 1, models: [], phi: 0, file: null });
const board = new Board($("board"));
const tools = new Tools(board, store, tell);
let engine, live, latest = null, breaking = null;

function tell(text = "") {
  $("banner").textContent = text;
  $("banner").hidden = !text;
}

// --- asking and showing

function question(state, quick = false) {
  const { shapes, currents, tau, seed, models } = state;
  return { shapes: shapes.map(toWire), currents, tau, seed, models, quick };
}

const ask = (asked, signal) => (asked.file ? engine.upload(asked.file, asked.models, signal) : engine.image(asked, signal));

function refresh(quick) {
  if (!live) return undefined; // the engine is still on its way: it begins with what is there when it comes
  const { file, models, shapes } = store.state;
  if (!file && !shapes.length) return empty();
  document.querySelectorAll(".result").forEach((card) => card.classList.add("busy"));
  return live.request(file ? { file, models } : question(store.state, quick), quick);
}

function empty() {
  live.stop();
  latest = null;
  $("results").replaceChildren();
  $("status").textContent = "The body is empty: draw something in it.";
  board.ribbon(null);
  [$("phi"), $("uncertainty")].forEach(clear);
  ["curves", "curve-note", "phi-tabs", "solver"].forEach((id) => $(id).replaceChildren());
}

function show(error, answer, asked) {
  if (error) {
    if (!error.retryAfter) giveUp(asked);
    return tell(error.message);
  }
  if (!breaking) tell();
  latest = { answer, asked, shapes: asked.file ? [] : store.state.shapes };
  render($("results"), answer, latest.shapes);
  chart($("curves"), answer.data, answer.clean);
  $("curve-note").replaceChildren(...answer.data.map((_, l) => Object.assign(document.createElement("span"), { className: `l${l + 1}`, textContent: `cos ${l ? l + 1 : ""}θ` })));
  $("solver").textContent = answer.solver ? `${answer.solver} solver, ${(1000 * answer.seconds.forward).toFixed(0)} ms` : `${asked.file?.name ?? ""}`;
  showFields();
  if (!asked.quick) announce(answer);
  return undefined;
}

/** No answer will come: what is shown stays, and a file that cannot be read is forgotten. */
function giveUp(asked) {
  document.querySelectorAll(".result").forEach((card) => card.classList.remove("busy"));
  if (asked.file) store.set({ file: latest?.asked.file ?? null }, { silent: true });
}

function showFields() {
  if (!latest) return;
  const { answer, shapes } = latest, l = Math.min(store.state.phi, answer.phi.length - 1);
  paint($("phi"), answer.phi[l], diverging, shapes);
  board.ribbon(answer.data[l], l);
  $("phi-tabs").replaceChildren(...answer.phi.map((_, k) => phiTab(k, k === l)));
  const first = answer.images.find((one) => one.uncertainty);
  $("uncertainty-note").textContent = first?.name ?? "no network";
  if (first) paint($("uncertainty"), first.uncertainty, sequential, shapes);
  else clear($("uncertainty"));
}

function phiTab(k, on) {
  const tab = Object.assign(document.createElement("button"), { type: "button", textContent: k + 1 });
  tab.setAttribute("aria-pressed", on);
  tab.setAttribute("aria-label", `Current ${k + 1}`);
  tab.addEventListener("click", () => store.set({ phi: k }));
  return tab;
}

function announce(answer) {
  const all = [...answer.images, answer.classical].filter((one) => one.scores);
  const text = all.map((one) => `${one.name}: Dice ${one.scores.dice.toFixed(2)}`).join(", ");
  $("status").textContent = text || "The measurement is shown; there is no truth to compare with.";
}

// --- controls

store.subscribe((state, before, how) => {
  if (state.shapes !== before.shapes || state.selected !== before.selected) board.render(state);
  if (state.tool !== before.tool) showTool(state.tool);
  if (state.phi !== before.phi) showFields();
  if (state.shapes !== before.shapes || state.file !== before.file) $("verdict").textContent = "";
  showControls(state);
  const keys = ["shapes", "currents", "tau", "seed", "models", "file"];
  if (keys.some((key) => state[key] !== before[key]) && !how.silent) refresh(Boolean(how.live));
});

function showTool(tool) {
  document.querySelectorAll("[data-tool]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.tool === tool));
  $("board-help").textContent = HINTS[tool];
  board.root.classList.toggle("select", tool === "select");
  tools.cancel();
}

function showControls(state) {
  $("undo").disabled = !store.canUndo;
  $("redo").disabled = !store.canRedo;
  $("delete").disabled = !state.selected;
  $("back").hidden = !state.file;
  board.root.classList.toggle("aside", Boolean(state.file));
  $("sigma").value = Math.log10(state.sigma);
  $("sigma-value").textContent = short(state.sigma);
  $("sigma").setAttribute("aria-valuetext", short(state.sigma));
  $("tau").value = Math.round(100 * Math.sqrt(Math.min(1, state.tau)));
  $("tau-value").textContent = `${short(100 * state.tau)} %`;
  $("tau").setAttribute("aria-valuetext", `${short(100 * state.tau)} percent`);
  document.querySelector(`[name="currents"][value="${state.currents}"]`).checked = true;
}

const actions = {
  tool: (tool) => store.set({ tool }),
  currents: (currents) => store.set({ currents }),
  again: () => store.set({ seed: 1 + Math.floor(1e9 * Math.random()) }),
  random: () => store.draw(randomShapes(store.state.sigma), null),
  help: () => $("help").showModal(),
};

function setUpControls() {
  document.querySelectorAll("[data-tool]").forEach((button) => button.addEventListener("click", () => actions.tool(button.dataset.tool)));
  document.querySelectorAll('[name="currents"]').forEach((radio) => radio.addEventListener("change", () => actions.currents(Number(radio.value))));
  const buttons = { undo: () => store.undo(), redo: () => store.redo(), delete: () => store.selected && store.remove(store.state.selected), clear: () => store.draw([], null), again: actions.again, random: actions.random, "help-button": actions.help, save, picture: savePicture, open: () => $("file").click(), back: () => store.set({ file: null }), break: breakIt };
  for (const [id, action] of Object.entries(buttons)) $(id).addEventListener("click", action);
  const slide = (id, change) => {
    $(id).addEventListener("input", () => change(Number($(id).value), true));
    $(id).addEventListener("change", () => change(Number($(id).value), false));
  };
  slide("sigma", setSigma);
  slide("tau", (t, moving) => {
    store.set({ tau: Number(((t / 100) ** 2).toPrecision(2)) }, { live: true, silent: !moving });
    if (!moving) refresh(false);
  });
  $("file").addEventListener("change", () => {
    const [file] = $("file").files;
    $("file").value = ""; // or the same file, changed in the meantime, could not be opened again
    if (file) store.set({ file, selected: null });
  });
}

let sliding = false;
function setSigma(power, moving) {
  const sigma = Number((10 ** power).toPrecision(2));
  const shape = store.selected;
  store.set({ sigma });
  if (!shape) return;
  if (!sliding) store.remember();
  sliding = moving;
  store.replace({ ...shape, sigma }, { live: moving, remembered: true });
}

function showModels(models) {
  $("models").replaceChildren(...models.map(({ name }) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", value: name, checked: store.state.models.includes(name) });
    box.addEventListener("change", () => store.set({ models: models.map((m) => m.name).filter((m) => $("models").querySelector(`[value="${CSS.escape(m)}"]`).checked) }));
    const label = Object.assign(document.createElement("label"), { className: "chip" });
    label.append(box, Object.assign(document.createElement("span"), { textContent: name }));
    return label;
  }));
}

async function breakIt() {
  if (breaking) return breaking.abort();
  if (!live) return undefined;
  if (store.state.file || !store.state.shapes.length) return tell("Draw something first: without a truth nothing can be lost.");
  breaking = new AbortController();
  $("break").textContent = "Stop";
  live.stop();
  const one = async (tau, signal) => {
    const asked = question({ ...store.state, tau }, true), answer = await engine.image(asked, signal);
    store.set({ tau }, { silent: true });
    show(null, answer, asked);
    return answer;
  };
  const found = await untilItBreaks(one, (tau, dice) => ($("verdict").textContent = `τ = ${short(100 * tau)} %: Dice ${dice.toFixed(2)}`), breaking.signal).catch((error) => error);
  $("verdict").textContent = verdict(found);
  breaking = null;
  $("break").textContent = "Add noise until it breaks";
  if (latest) announce(latest.answer);
  return undefined;
}

function verdict(found) {
  if (found instanceof Error) return found.name === "AbortError" ? "Stopped." : found.message;
  if (!found.broken) return `It holds up to τ = ${short(100 * found.held)} %.`;
  return `It breaks at τ = ${short(100 * found.broken)} %: Dice ${found.dice.toFixed(2)}, without noise ${found.clean.toFixed(2)}.`;
}

function save() {
  if (!latest) return tell("There is nothing to save yet.");
  return download("measurement.json", new Blob([JSON.stringify(measurement(latest.answer.data))], { type: "application/json" }));
}

async function savePicture() {
  if (!latest) return tell("There is nothing to save yet.");
  const cards = [...document.querySelectorAll(".result")].filter((card) => !card.querySelector("canvas").hidden).map((card) => ({
    name: card.dataset.name, canvas: card.querySelector("canvas"), text: [...card.querySelectorAll(".scores div")].map((div) => `${div.children[0].textContent} ${div.children[1].textContent}`).join("   "),
  }));
  const { asked } = latest, caption = asked.file ? asked.file.name : `${asked.currents} currents, noise ${short(100 * asked.tau)} %, eitlens ${engine.settings.version}`;
  return download("eitlens.png", await picture(cards, caption));
}

// --- begin

setUpTheme($("theme"), () => latest && showFields());
setUpControls();
listen(store, tools, actions);
board.render(store.state);
showControls(store.state);
showTool("ellipse");
$("status").textContent = "Loading …";
engine = await start().catch((error) => {
  tell(`The page cannot start: ${error.message}`);
  throw error;
});
live = new Live(ask, show);
const names = engine.settings.models.map((model) => model.name);
if (!names.length) tell("No trained network is installed: the page shows the classical image only.");
store.set({ models: names.slice(0, 1) }, { silent: true });
showModels(engine.settings.models);
refresh(false);
new ResizeObserver(() => latest && chart($("curves"), latest.answer.data, latest.answer.clean)).observe($("curves"));
