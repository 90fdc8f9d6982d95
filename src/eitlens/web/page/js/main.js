// Everything together: what the page knows, what follows from a change of it, and how it begins.

import { question, start } from "./ask/engine.js";
import { NoiseSearch } from "./ask/noise-search.js";
import { Requests } from "./ask/requests.js";
import { actionsOn, setUpControls, setUpNetworks, setUpTheme, showControls, showTool } from "./controls.js";
import { all, byId } from "./dom.js";
import { Board } from "./draw/board.js";
import { listen } from "./draw/keyboard.js";
import { Tools } from "./draw/tools.js";
import { saveMeasurement, savePicture } from "./files.js";
import { FIRST, FIRST_IN_TANK, INITIAL } from "./first.js";
import { announce, markBusy, showAnswer, showCurves, showFields, showNothing, tell } from "./show/display.js";
import { Store } from "./store.js";
import { TankMode } from "./tank/mode.js";

const ASKED = ["mode", "shapes", "currents", "tau", "seed", "models", "file", "tank", "snr", "methods"];
// When one of these changes, the image does.

const store = new Store({ ...INITIAL, shapes: FIRST });
const board = new Board(byId("board")), tools = new Tools(board, store, tell);
const engine = start(), requests = new Requests(ask, answered), search = new NoiseSearch();
let tanks = null; // once the server has said what it knows of them

async function ask(asked, signal, partly) {
  return asked.mode === "tank" ? tanks.ask(asked, signal, partly) : (await engine).ask(asked, signal);
}

function refresh(quick) {
  const inTank = store.state.mode === "tank", asked = inTank ? tanks.question(quick) : question(store.state, quick);
  if (inTank || asked.file || asked.shapes.length) {
    markBusy(true);
    return requests.send(asked);
  }
  requests.stop();
  store.set({ latest: null });
  return showNothing(board);
}

function answered(error, answer, asked) {
  tell(error?.message ?? answer.stopped);
  if (!error) return store.set({ latest: { answer, asked, shapes: asked.file ? [] : store.state.shapes } });
  if (error.retryAfter) return undefined; // it will be asked again
  markBusy(false);
  return asked.file ? forgetFile(asked, error.message) : undefined;
}

/** A file that cannot be shown is forgotten, and so is the picture: it is of something else. */
function forgetFile({ mode, file }, reason) {
  store.set({ file: null, latest: null }, { silent: true });
  showControls(store);
  if (mode === "tank") return tanks.refuse(reason);
  showNothing(board);
  byId("status").textContent = `${file.name} cannot be shown. The drawing is imaged when you change it.`;
  return undefined;
}

const choosePhi = (phi) => store.set({ phi });
const ifShown = (action) => (store.state.latest ? action(store.state) : undefined);

store.subscribe((state, before, how) => {
  const changed = (...keys) => keys.some((key) => state[key] !== before[key]);
  if (changed("mode", "shapes", "file")) search.stop();
  if (changed("shapes", "selected", "mode")) board.render(state);
  if (changed("mode")) changeMode(state);
  if (changed("tool")) {
    showTool(state.tool);
    tools.cancel();
  }
  if (state.mode === "tank") tanks?.show(changed);
  else if (changed("latest", "mode")) ifShown(() => showAnswer(state, board, choosePhi));
  else if (changed("phi")) ifShown(() => showFields(state, board, choosePhi));
  if (changed("shapes", "file")) byId("verdict").textContent = "";
  showControls(store);
  if ((changed(...ASKED) || how.ended) && !how.silent) refresh(Boolean(how.live));
});

function changeMode({ mode }) {
  requests.stop();
  tell();
  tools.cancel();
  byId("results").replaceChildren();
  if (mode === "square") board.square();
}

/** Add noise until the image is lost, and put the noise back; pressed again, stop. */
async function breakIt() {
  if (search.stop()) return undefined;
  const { file, shapes, tau, models } = store.state;
  if (file || !shapes.length) return tell("Draw something first: without a truth nothing can be lost.");
  requests.stop();
  const { settings } = await engine, first = settings.models.find((model) => model.name === models[0]);
  const left = await search.start(async (level, signal) => {
    const asked = question({ ...store.state, tau: level }, true), answer = await ask(asked, signal);
    if (signal.aborted) return answer; // what is drawn is something else by now
    store.set({ tau: level }, { silent: true });
    answered(null, answer, asked);
    return answer;
  }, first);
  store.set({ tau }, { silent: true });
  showControls(store);
  if (!left && store.state.mode === "square") refresh(false);
  return ifShown(({ latest }) => announce(latest.answer));
}

const withLatest = (save) => () => {
  const { latest } = store.state;
  return latest ? save(latest) : tell("There is nothing to save yet.");
};
const actions = {
  ...actionsOn(store),
  break: breakIt,
  save: withLatest((latest) => store.state.mode === "tank" ? tanks.save() : saveMeasurement(latest)),
  picture: withLatest(async (latest) => savePicture(latest, (await engine).settings.version)),
};

const showAgain = () =>
  ifShown((state) => state.mode === "tank" ? tanks.showAll() : showFields(state, board, choosePhi));
setUpTheme(showAgain);
setUpControls(store, actions);
listen(store, tools, actions);
board.render(store.state);
showControls(store);
showTool(store.state.tool);
byId("status").textContent = "Loading …";
new ResizeObserver(() => ifShown(({ mode, latest }) => mode === "square" && showCurves(latest.answer))).observe(
  byId("curves"),
);
new ResizeObserver(() => ifShown(({ mode }) => mode === "tank" && tanks.showReadings())).observe(byId("voltages"));
new IntersectionObserver(([{ isIntersecting }]) => document.body.classList.toggle("results-seen", isIntersecting), {
  rootMargin: "0px 0px -160px",
}).observe(byId("results"));
const { settings } = await engine.catch((error) => {
  tell(`The page cannot start: ${error.message}`);
  throw error;
});
const names = settings.models.map((model) => model.name);
if (settings.tank) tanks = new TankMode(store, board, settings.tank, tell);
byId("no-tanks").hidden = Boolean(tanks);
for (const radio of all('[name="mode"]')) {
  radio.disabled = !tanks && radio.value === "tank";
  radio.addEventListener(
    "change",
    () => store.enter(radio.value, { shapes: FIRST_IN_TANK, selected: null, file: null, latest: null }),
  );
}
store.set({ models: names.slice(0, 1) }, { ended: true });
setUpNetworks(store, names);
