// The page while it shows a tank: what it asks, and what it does with the answer.

import { fitted } from "../draw/bodies.js";
import { download } from "../files.js";
import { askFrame, askTank, measured, tankQuestion, without } from "./ask.js";
import { refuseFile, setUpTank, showTankControls } from "./controls.js";
import { Player } from "./player.js";
import { showEmptyTank, showPanels, showTank } from "./show.js";

const DEFAULT = ["network", "greit", "gauss-newton"], REST = 350; // milliseconds on a frame before slow methods image it

export class TankMode {
  #slow;
  #titles;
  #timer = 0;
  #running = null;

  constructor(store, board, settings, tell) {
    this.store = store;
    this.board = board;
    this.tell = tell;
    this.#slow = new Set(settings.methods.filter((one) => one.slow).map((one) => one.name));
    this.#titles = Object.fromEntries(settings.methods.map(({ name, title }) => [name, title]));
    const known = DEFAULT.filter((name) => name in this.#titles);
    store.set({ bodies: settings.bodies, methods: known }, { silent: true });
    this.player = new Player(store, () => this.#imageSlowly());
    setUpTank(store, settings);
  }

  question(quick) {
    return tankQuestion(this.store.state, this.#slow, quick);
  }

  ask(question, signal, partly) {
    return askTank(question, signal, partly);
  }

  /** Show what changed. */
  show(changed) {
    const { state } = this.store;
    if (changed("tank")) this.#fit();
    if (changed("tank", "mode") || (changed("latest") && !state.latest)) {
      showEmptyTank(this.board, this.store.outline, state.file);
    }
    if (changed("latest", "mode", "frame")) this.showAll();
    else if (changed("stimulation", "readingKind")) this.showReadings();
    showTankControls(state);
    this.player.show(state);
    if (changed("frame", "latest", "file")) this.#imageSlowly();
  }

  showAll() {
    if (this.store.state.latest) showTank(this.store.state, this.board, this.#titles);
  }

  showReadings() {
    if (this.store.state.latest) showPanels(this.store.state, this.board);
  }

  /** The shapes, moved into another outline. */
  #fit() {
    const shapes = this.store.state.shapes.map((shape) => fitted(shape, this.store.outline));
    this.store.set({ shapes }, { silent: true });
  }

  /** When a sequence rests on a frame, slow methods image it. */
  #imageSlowly() {
    clearTimeout(this.#timer);
    const { latest, frame, file } = this.store.state;
    if (!latest?.asked.file || latest.asked.file !== file || latest.answer.frames.count < 2) return;
    if (latest.answer.frames.shown < latest.answer.frames.count || this.player.playing) return;
    this.#timer = setTimeout(() => this.#slowFrame(latest, frame), REST);
  }

  async #slowFrame({ answer, asked, shapes }, frame) {
    this.#running?.abort();
    const { signal } = (this.#running = new AbortController()), before = this.store.state.latest;
    if (!without(answer, asked, frame).length) return;
    await askFrame(answer, asked, frame, signal, () => {}).then(
      (found) => this.store.state.latest === before && this.store.set({ latest: { answer: found, asked, shapes } }),
      (error) => error.name === "AbortError" || this.tell(error.message),
    );
  }

  async save() {
    const { asked } = this.store.state.latest;
    if (asked.file) return this.tell("This is the file that you opened.");
    const { file } = await measured(asked.drawing, new AbortController().signal);
    return download("tank.json", new Blob([JSON.stringify(file)], { type: "application/json" }));
  }

  refuse(reason) {
    this.tell();
    refuseFile(reason);
  }
}
