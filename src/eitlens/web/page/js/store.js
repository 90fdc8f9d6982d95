// What the page knows: one object, replaced and announced at every change, and the drawings of the past.

export class Store {
  #listeners = new Set();
  #past = [];
  #future = [];
  #aside = {}; // by mode: what it shows while the page is in another one

  /** @param {any} state */
  constructor(state) {
    this.state = state;
  }

  subscribe(listener) {
    this.#listeners.add(listener);
  }

  /** Change something. `how.live` says that more changes of the same kind are on their way (a drag). */
  set(change, how = {}) {
    const before = this.state;
    this.state = { ...before, ...change };
    for (const listener of this.#listeners) listener(this.state, before, how);
  }

  /** Remember the drawing as it is, before a change that can be undone. */
  remember() {
    if (this.#past.at(-1) === this.state.shapes) return;
    this.#past = [...this.#past.slice(-99), this.state.shapes];
    this.#future = [];
  }

  draw(shapes, selected = this.state.selected, how = {}) {
    if (!how.live && !how.remembered) this.remember();
    this.set({ shapes, selected, file: null }, how);
  }

  undo() {
    if (!this.canUndo) return;
    this.#future.push(this.state.shapes);
    this.set({ shapes: this.#past.pop(), selected: null, file: null });
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.state.shapes);
    this.set({ shapes: this.#future.pop(), selected: null, file: null });
  }

  /** Go over to another mode of the page, which has its own drawing; a mode that is new begins with `first`. */
  enter(mode, first) {
    const { shapes, selected, file, latest } = this.state;
    this.#aside[this.state.mode] = {
      past: this.#past,
      future: this.#future,
      state: { shapes, selected, file, latest },
    };
    const { past, future, state } = this.#aside[mode] ?? { past: [], future: [], state: first };
    [this.#past, this.#future] = [past, future];
    this.set({ ...state, mode });
  }

  /** Points around the body that is drawn in; null for the square. */
  get outline() {
    return this.state.mode === "tank" ? this.state.bodies[this.state.tank.body] : null;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  get selected() {
    return this.state.shapes.find((shape) => shape.id === this.state.selected);
  }

  /** Put another shape in the place of the one with its id. */
  replace(shape, how = {}) {
    this.draw(this.state.shapes.map((old) => (old.id === shape.id ? shape : old)), shape.id, how);
  }

  remove(id) {
    this.draw(this.state.shapes.filter((shape) => shape.id !== id), null);
  }
}
