// Random drawings: a few ellipses that do not touch.

import { fitted, outline } from "./geometry.js";
import { named } from "./tools.js";

const between = (low, high) => low + (high - low) * Math.random();

function one(sigma) {
  return fitted(named({
    kind: "ellipse", center: [between(-0.7, 0.7), between(-0.7, 0.7)], axes: [between(0.12, 0.34), between(0.1, 0.24)], angle: between(0, Math.PI), sigma,
  }));
}

const apart = (p, q) => outline(p, 24).every(([x, y]) => outline(q, 24).every(([u, v]) => Math.hypot(x - u, y - v) > 0.08));

export function randomShapes(sigma, count = 2 + Math.floor(3 * Math.random())) {
  const shapes = [];
  for (let tries = 0; tries < 200 && shapes.length < count; tries++) {
    const shape = one(sigma);
    if (shapes.every((other) => apart(shape, other) && Math.hypot(shape.center[0] - other.center[0], shape.center[1] - other.center[1]) > 0.35)) shapes.push(shape);
  }
  return shapes;
}
