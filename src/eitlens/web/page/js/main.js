// Everything together: what the page knows, what follows from a change of it, and how it begins.

import { question, start } from "./ask/engine.js";
import { NoiseSearch } from "./ask/noise-search.js";
import { Requests } from "./ask/requests.js";
import { actionsOn, setUpControls, setUpNetworks, setUpTheme, showControls, showTool } from "./controls.js";
import { byId } from "./dom.js";
import { Board } from "./draw/board.js";
import { listen } from "./draw/keyboard.js";
import { withId } from "./draw/shapes.js";
import { Tools } from "./draw/tools.js";
import { saveMeasurement, savePicture } from "./files.js";
import { announce, markBusy, showAnswer, showCurves, showFields, showNothing, tell } from "./show/display.js";
import { Store } from "./store.js";

const FIRST = [
  { kind: "ellipse", center: [0.4, 0.42], semi_axes: [0.34, 0.2], angle: 0.6, conductivity: 10 },
  { kind: "ellipse", center: [-0.45, -0.4], semi_axes: [0.2, 0.28], angle: 0.3, conductivity: 10 },
  { kind: "ellipse", center: [-0.42, 0.45], semi_axes: [0.26, 0.18], angle: 2.6, conductivity: 10 },
];
const ASKED = ["shapes", "currents", "tau", "seed", "models", "file"]; // when one of these changes, the image does

const store = new Store({
  shapes: FIRST.map(withId),
  selected: null, // the id of a shape
  tool: "ellipse",
  conductivity: 10, // of new shapes
  currents: 3,
  tau: 0, // relative noise
  seed: 1,
  models: [], // names of networks
  file: null, // a measurement instead of the drawing
  latest: null, // what is shown: {answer, asked, shapes}
  phi: 0, // the current whose φ is shown
});
const board = new Board(byId("board")), tools = new Tools(board, store, tell);
const engine = start(), requests = new Requests(ask, answered), search = new NoiseSearch();

async function ask(asked, signal) {
  return (await engine).ask(asked, signal);
}

function refresh(quick) {
  const asked = question(store.state, quick);
  if (asked.file || asked.shapes.length) {
    markBusy(true);
    return requests.send(asked);
  }
  requests.stop();
  store.set({ latest: null });
  return showNothing(board);
}

function answered(error, answer, asked) {
  tell(error?.message);
  if (!error) return store.set({ latest: { answer, asked, shapes: asked.file ? [] : store.state.shapes } });
  if (error.retryAfter) return undefined; // it will be asked again
  markBusy(false); // what is shown stays, and a file that cannot be read is forgotten
  if (asked.file) store.set({ file: store.state.latest?.asked.file ?? null }, { silent: true });
  return undefined;
}

const choosePhi = (phi) => store.set({ phi });
const ifShown = (action) => (store.state.latest ? action(store.state) : undefined);

store.subscribe((state, before, how) => {
  const changed = (...keys) => keys.some((key) => state[key] !== before[key]);
  if (changed("shapes", "selected")) board.render(state);
  if (changed("tool")) {
    showTool(state.tool);
    tools.cancel();
  }
  if (changed("latest")) ifShown(() => showAnswer(state, board, choosePhi));
  else if (changed("phi")) ifShown(() => showFields(state, board, choosePhi));
  if (changed("shapes", "file")) byId("verdict").textContent = "";
  showControls(store);
  if ((changed(...ASKED) || how.ended) && !how.silent) refresh(Boolean(how.live));
});

/** Add noise until the image is lost; pressed again, stop. */
async function breakIt() {
  if (search.stop()) return undefined;
  const { file, shapes } = store.state;
  if (file || !shapes.length) return tell("Draw something first: without a truth nothing can be lost.");
  requests.stop();
  await search.start(async (tau, signal) => {
    const asked = question({ ...store.state, tau }, true), answer = await ask(asked, signal);
    store.set({ tau }, { silent: true });
    answered(null, answer, asked);
    return answer;
  });
  return ifShown(({ latest }) => announce(latest.answer));
}

const withLatest = (save) => () => {
  const { latest } = store.state;
  return latest ? save(latest) : tell("There is nothing to save yet.");
};
const actions = {
  ...actionsOn(store),
  break: breakIt,
  save: withLatest(saveMeasurement),
  picture: withLatest(async (latest) => savePicture(latest, (await engine).settings.version)),
};

setUpTheme(() => ifShown((state) => showFields(state, board, choosePhi)));
setUpControls(store, actions);
listen(store, tools, actions);
board.render(store.state);
showControls(store);
showTool(store.state.tool);
byId("status").textContent = "Loading …";
new ResizeObserver(() => ifShown(({ latest }) => showCurves(latest.answer))).observe(byId("curves"));
const { settings } = await engine.catch((error) => {
  tell(`The page cannot start: ${error.message}`);
  throw error;
});
const names = settings.models.map((model) => model.name);
store.set({ models: names.slice(0, 1) }, { ended: true });
setUpNetworks(store, names);
