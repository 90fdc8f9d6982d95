// The drawing board: shapes with their handles, what is being sketched, and the boundary data around the body.

import { bounds, centre, describe, outline } from "./geometry.js";
import { element, path } from "./svg.js";

const RIBBON = 0.17;
const KIND = (sigma) => (sigma > 1.0001 ? "better" : sigma < 0.9999 ? "worse" : "same");

export class Board {
  constructor(root) {
    this.root = root;
    this.layers = Object.fromEntries(["back", "ribbon", "shapes", "handles", "sketch"].map((name) => [name, element("g", { class: name })]));
    root.append(...Object.values(this.layers));
    this.layers.back.append(element("rect", { class: "body", x: -1, y: -1, width: 2, height: 2 }));
    for (const v of [-0.5, 0, 0.5]) {
      this.layers.back.append(element("line", { class: "grid", x1: v, x2: v, y1: -1, y2: 1 }), element("line", { class: "grid", y1: v, y2: v, x1: -1, x2: 1 }));
    }
  }

  /** Where in the body a pointer is. */
  locate(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.root.getScreenCTM().inverse());
    return [point.x, -point.y];
  }

  render({ shapes, selected }) {
    const focused = document.activeElement?.dataset?.id;
    this.layers.shapes.replaceChildren(...shapes.map((shape) => this.#shape(shape, shape.id === selected)));
    if (focused) this.focus(focused);
    const chosen = shapes.find((shape) => shape.id === selected);
    this.layers.handles.replaceChildren(...(chosen ? handles(chosen) : []));
  }

  #shape(shape, selected) {
    return element("path", {
      class: `shape ${KIND(shape.sigma)}${selected ? " selected" : ""}`,
      d: path(outline(shape)), tabindex: 0, role: "button", "aria-pressed": selected, "aria-label": describe(shape), "data-id": shape.id,
    });
  }

  focus(id) {
    this.layers.shapes.querySelector(`[data-id="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
  }

  /** What is being drawn: points so far, each corner marked when `corners`. */
  sketch(points, corners = false) {
    const marks = corners ? points.map(([x, y]) => element("circle", { class: "corner", cx: x, cy: -y, r: 0.018 })) : [];
    this.layers.sketch.replaceChildren(...(points.length ? [element("path", { class: "sketch", d: path(points, !corners) }), ...marks] : []));
  }

  /** f - f0 of one current, drawn outwards and inwards of each side. */
  ribbon(values, index) {
    if (!values) return this.layers.ribbon.replaceChildren();
    const n = values.length / 4, largest = values.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1;
    const side = (k) => Array.from({ length: n + 1 }, (_, i) => shifted(k, i / n, (RIBBON * values[(k * n + i) % values.length]) / largest));
    const piece = (k) => element("path", { class: `ribbon l${index + 1}`, d: path([shifted(k, 0, 0), ...side(k), shifted(k, 1, 0)]) });
    return this.layers.ribbon.replaceChildren(...[0, 1, 2, 3].map(piece));
  }
}

/** The point of side k (bottom, right, top, left) a fraction along, moved outwards by `out`. */
function shifted(k, fraction, out) {
  const t = 2 * fraction - 1;
  return [[t, -1 - out], [1 + out, t], [-t, 1 + out], [-1 - out, -t]][k];
}

export function handlePlaces(shape) {
  if (shape.kind === "ellipse") {
    const [a, b] = shape.axes, [c, s] = [Math.cos(shape.angle), Math.sin(shape.angle)], [x, y] = shape.center;
    return { first: [x + a * c, y + a * s], second: [x - b * s, y + b * c], turn: [x - (a + 0.14) * c, y - (a + 0.14) * s], arm: [x - a * c, y - a * s] };
  }
  const [x0, y0, x1, y1] = bounds(shape.points);
  return { both: [x1 + 0.03, y1 + 0.03], turn: [centre(shape)[0], y1 + 0.14], arm: [centre(shape)[0], y1] };
}

function handles(shape) {
  const { turn, arm, ...sizes } = handlePlaces(shape);
  return [
    element("line", { class: "arm", x1: arm[0], y1: -arm[1], x2: turn[0], y2: -turn[1] }),
    element("circle", { class: "handle turn", cx: turn[0], cy: -turn[1], r: 0.036, "data-handle": "turn" }),
    ...Object.entries(sizes).map(([name, [x, y]]) =>
      element("rect", { class: "handle size", x: x - 0.03, y: -y - 0.03, width: 0.06, height: 0.06, rx: 0.012, "data-handle": name })),
  ];
}
