// The drawing board: shapes with their handles, what is being sketched, and the boundary data around the body.

import { path, svg } from "../dom.js";
import { add, bounds, centre, describe, outline, turned } from "./shapes.js";

const RIBBON = 0.17, ARM = 0.14, OUT = 0.11; // how far the ribbon reaches, the handle that turns, and a number
const TOUCH = 22; // pixels from its middle at which a handle is caught
const LAYERS = ["back", "ribbon", "shapes", "handles", "sketch"];
const kind = ({ conductivity }) => (conductivity > 1.0001 ? "better" : conductivity < 0.9999 ? "worse" : "same");

export class Board {
  constructor(root) {
    this.root = root;
    this.layers = Object.fromEntries(LAYERS.map((name) => [name, svg("g", { class: name })]));
    root.append(...Object.values(this.layers));
    this.square();
  }

  /** Draw in the square. */
  square() {
    const lines = [-0.5, 0, 0.5].flatMap((v) => [
      svg("line", { class: "grid", x1: v, x2: v, y1: -1, y2: 1 }),
      svg("line", { class: "grid", y1: v, y2: v, x1: -1, x2: 1 }),
    ]);
    this.layers.back.replaceChildren(svg("rect", { class: "body", x: -1, y: -1, width: 2, height: 2 }), ...lines);
  }

  /** Draw in a tank: its outline, and its electrodes with their numbers; those of `driven` carry the current. */
  tank(body, electrodes = [], driven = []) {
    const one = (arc, k) => {
      const sign = k + 1 === driven[0] ? " source" : k + 1 === driven[1] ? " sink" : "";
      const [x, y] = arc[Math.floor(arc.length / 2)], out = 1 + OUT / Math.hypot(x, y);
      const every = electrodes.length <= 16 || k % 2 === 0 || sign;
      const number = svg("text", { class: `number${sign}`, x: x * out, y: -y * out }, every ? `${k + 1}` : "");
      return svg("g", {}, svg("path", { class: `electrode${sign}`, d: path(arc, false) }), number);
    };
    this.layers.back.replaceChildren(svg("path", { class: "body", d: path(body) }), ...electrodes.map(one));
    this.ribbon(null);
  }

  /** Where in the body a pointer is. */
  locate(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.root.getScreenCTM().inverse());
    return [point.x, -point.y];
  }

  render({ shapes, selected }) {
    const focused = document.activeElement?.getAttribute("data-id");
    this.layers.shapes.replaceChildren(...shapes.map((shape) => this.#shape(shape, shape.id === selected)));
    if (focused) this.focus(focused);
    const chosen = shapes.find((shape) => shape.id === selected);
    this.layers.handles.replaceChildren(...(chosen ? handles(chosen, this.#reach()) : []));
  }

  /** The radius in the body around a handle that catches a finger; with a mouse the handle itself is enough. */
  #reach() {
    const wide = matchMedia("(pointer: coarse)").matches;
    return wide ? (TOUCH * this.root.viewBox.baseVal.width) / (this.root.clientWidth || 400) : 0.05;
  }

  #shape(shape, selected) {
    const look = { class: `shape ${kind(shape)}${selected ? " selected" : ""}`, d: path(outline(shape)) };
    const spoken = { role: "button", "aria-pressed": selected, "aria-label": describe(shape) };
    return svg("path", { ...look, ...spoken, tabindex: 0, "data-id": shape.id });
  }

  focus(id) {
    this.layers.shapes.querySelector(`[data-id="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
  }

  /** What is being drawn: points so far, each corner marked when `corners`. */
  sketch(points, corners = false) {
    const line = points.length ? [svg("path", { class: "sketch", d: path(points, !corners) })] : [];
    const mark = ([x, y]) => svg("circle", { class: "corner", cx: x, cy: -y, r: 0.018 });
    this.layers.sketch.replaceChildren(...line, ...(corners ? points.map(mark) : []));
  }

  /** f - f0 of one current, drawn outwards and inwards of each side. */
  ribbon(values, index) {
    if (!values) return this.layers.ribbon.replaceChildren();
    const n = values.length / 4, scale = RIBBON / (values.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1);
    const out = (k, i) => shifted(k, i / n, scale * values[(k * n + i) % values.length]);
    const side = (k) => [shifted(k, 0, 0), ...Array.from({ length: n + 1 }, (_, i) => out(k, i)), shifted(k, 1, 0)];
    const piece = (k) => svg("path", { class: `ribbon l${index + 1}`, d: path(side(k)) });
    return this.layers.ribbon.replaceChildren(...[0, 1, 2, 3].map(piece));
  }
}

/** The point of side k (bottom, right, top, left) a fraction along, moved outwards by `out`. */
function shifted(k, fraction, out) {
  const t = 2 * fraction - 1;
  return [[t, -1 - out], [1 + out, t], [-t, 1 + out], [-1 - out, -t]][k];
}

function handlePlaces(shape) {
  if (shape.kind === "ellipse") {
    const [a, b] = shape.semi_axes, along = (r) => add(shape.center, turned([r, 0], shape.angle));
    return {
      first: along(a),
      second: add(shape.center, turned([0, b], shape.angle)),
      turn: along(-a - ARM),
      arm: along(-a),
    };
  }
  const [, , x1, y1] = bounds(shape.vertices);
  return { both: [x1 + 0.03, y1 + 0.03], turn: [centre(shape)[0], y1 + ARM], arm: [centre(shape)[0], y1] };
}

function handles(shape, reach) {
  const { turn, arm, ...sizes } = handlePlaces(shape);
  const square = (at) => ({ x: at[0] - 0.03, y: -at[1] - 0.03, width: 0.06, height: 0.06, rx: 0.012 });
  const catcher = (name, at) => svg("circle", { class: "catch", cx: at[0], cy: -at[1], r: reach, "data-handle": name });
  return [
    svg("line", { class: "arm", x1: arm[0], y1: -arm[1], x2: turn[0], y2: -turn[1] }),
    ...Object.entries(sizes).map(([name, at]) => catcher(name, at)),
    catcher("turn", turn),
    svg("circle", { class: "handle turn", cx: turn[0], cy: -turn[1], r: 0.036, "data-handle": "turn" }),
    ...Object.entries(sizes).map(([name, at]) =>
      svg("rect", { class: "handle size", ...square(at), "data-handle": name })
    ),
  ];
}
