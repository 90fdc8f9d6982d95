// What a pointer does on the board, tool by tool.

import { fitted } from "./bodies.js";
import { area, fromStroke, regular, untangled } from "./polygons.js";
import { apart, centre, moved, outline, rotated, scaled, SMALLEST, withId } from "./shapes.js";

export const HINTS = {
  select: "Drag a shape to move it; the squares scale it, the dot turns it.",
  ellipse: "Drag to draw an ellipse. Drag a shape to move it.",
  polygon: "Click corner after corner; the first again, or Enter, closes it.",
  freehand: "Draw an outline in one stroke.",
};
const CLOSE = 0.07, MOST_SHAPES = 12, MOST_CORNERS = 40, LEAST_AREA = 0.002;

export class Tools {
  corners = []; // of a polygon that is not closed yet
  drag = null; // {move(at), end(at)} while a button is down

  constructor(board, store, complain) {
    this.board = board;
    this.store = store;
    this.complain = complain;
    const root = board.root;
    root.addEventListener("pointerdown", (event) => this.#down(event));
    root.addEventListener("pointermove", (event) => this.#move(event));
    root.addEventListener("pointerup", (event) => this.#up(event));
    root.addEventListener("pointercancel", () => this.#drop());
  }

  /** Add a shape, select it, and say so if there are too many. */
  add(shape) {
    const { shapes, conductivity } = this.store.state;
    if (shapes.length >= MOST_SHAPES) return this.complain(`At most ${MOST_SHAPES} shapes: delete one first.`);
    const made = fitted(withId({ conductivity, ...shape }), this.store.outline);
    this.store.draw([...shapes, made], made.id);
    return made;
  }

  /** A shape of the current tool without a pointer, where there is room. */
  addDefault() {
    if (this.corners.length) return this.closePolygon();
    const { shapes, tool } = this.store.state, place = freePlace(shapes);
    const polygon = tool === "polygon" || tool === "freehand";
    const shape = polygon
      ? { kind: "polygon", vertices: regular(place, 0.24) }
      : { kind: "ellipse", center: place, semi_axes: [0.26, 0.17], angle: 0.5 };
    const made = this.add(shape);
    if (made) this.board.focus(made.id);
    return made;
  }

  cancel() {
    this.corners = [];
    this.board.sketch([]);
  }

  #down(event) {
    if (event.button || this.drag) return;
    const at = this.board.locate(event), handle = event.target.dataset.handle, id = event.target.dataset.id;
    const { tool } = this.store.state;
    if (this.corners.length || (tool === "polygon" && !handle && !id)) return this.#corner(at);
    this.board.root.setPointerCapture(event.pointerId);
    if (handle) this.drag = this.#handleDrag(handle, at);
    else if (id) this.drag = this.#moveDrag(id, at);
    else if (tool === "ellipse") this.drag = this.#ellipseDrag(at);
    else if (tool === "freehand") this.drag = this.#strokeDrag(at);
    else this.store.set({ selected: null });
  }

  #move(event) {
    const at = this.board.locate(event);
    if (this.drag) this.drag.move(at);
    else if (this.corners.length) this.board.sketch([...this.corners, at], true);
  }

  #up(event) {
    const drag = this.drag;
    this.drag = null;
    drag?.end(this.board.locate(event));
  }

  #drop() {
    this.drag = null;
    this.board.sketch([]);
  }

  /** Changes of the selected shape, remembered once when they begin and announced as final when they end. */
  #change(id, change) {
    const start = this.store.state.shapes.find((shape) => shape.id === id);
    let begun = false;
    const apply = (at, live) => {
      if (!begun) this.store.remember();
      begun = true;
      this.store.replace(fitted(change(start, at), this.store.outline), { live, remembered: true });
    };
    return { move: (at) => apply(at, true), end: (at) => begun && apply(at, false) };
  }

  #moveDrag(id, from) {
    const shape = this.store.state.shapes.find((one) => one.id === id);
    this.store.set({ selected: id, conductivity: shape.conductivity });
    this.board.focus(id);
    return this.#change(id, (start, at) => moved(start, [at[0] - from[0], at[1] - from[1]]));
  }

  #handleDrag(handle, from) {
    const shape = this.store.selected, c = centre(shape);
    const reach = (at) => Math.max(apart(at, c), SMALLEST);
    const angle = (at) => Math.atan2(at[1] - c[1], at[0] - c[0]);
    const factor = (at) => reach(at) / reach(from);
    return this.#change(shape.id, (start, at) => {
      if (handle === "turn") return rotated(start, angle(at) - angle(from));
      if (handle === "both") return scaled(start, factor(at));
      return handle === "first" ? scaled(start, factor(at), 1) : scaled(start, 1, factor(at));
    });
  }

  #ellipseDrag(from) {
    const ellipse = (at, least) => ({
      kind: "ellipse",
      center: [(from[0] + at[0]) / 2, (from[1] + at[1]) / 2],
      semi_axes: [0, 1].map((k) => Math.max(Math.abs(at[k] - from[k]) / 2, least)),
      angle: 0,
    });
    return {
      move: (at) => this.board.sketch(outline(ellipse(at, 0))),
      end: (at) => {
        this.board.sketch([]);
        if (Math.max(...ellipse(at, 0).semi_axes) < SMALLEST / 2) return this.store.set({ selected: null });
        return this.add(ellipse(at, SMALLEST));
      },
    };
  }

  #strokeDrag(from) {
    const stroke = [from];
    return {
      move: (at) => this.board.sketch((stroke.push(at), stroke)),
      end: () => {
        this.board.sketch([]);
        const vertices = fromStroke(stroke);
        if (vertices) this.add({ kind: "polygon", vertices });
      },
    };
  }

  #corner(at) {
    const first = this.corners[0];
    if (this.corners.length > 2 && apart(at, first) < CLOSE) return this.closePolygon();
    this.corners = [...this.corners, at].slice(0, MOST_CORNERS);
    return this.board.sketch(this.corners, true);
  }

  closePolygon() {
    const vertices = untangled(this.corners);
    this.cancel();
    if (vertices.length >= 3 && Math.abs(area(vertices)) > LEAST_AREA) return this.add({ kind: "polygon", vertices });
    return this.complain("A polygon needs three corners or more, not on one line.");
  }
}

/** The centre of the body, or of a quarter of it, that is farthest from all shapes. */
function freePlace(shapes) {
  const places = [[0, 0], [-0.5, 0.5], [0.5, 0.5], [0.5, -0.5], [-0.5, -0.5]];
  const room = (p) => Math.min(2, ...shapes.map((shape) => apart(centre(shape), p)));
  return places.reduce((best, p) => (room(p) > room(best) ? p : best));
}
