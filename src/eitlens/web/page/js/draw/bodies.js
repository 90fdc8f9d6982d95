// Where a shape may be: inside the square, or inside an outline around the origin, seen from it point by point.

import { bounds, EDGE, moved, outline, scaled } from "./shapes.js";

const STEPS = 60, SHRINK = 0.97, AROUND = 720;
const known = new Map();

/** The shape made to fit the body: moved inside, shrunk if it is too large. `body`: points around it, null: the square. */
export function fitted(shape, body = null) {
  return body ? fittedIn(shape, radii(body)) : fittedInSquare(shape);
}

function fittedInSquare(shape) {
  const [x0, y0, x1, y1] = bounds(outline(shape));
  const size = Math.max(x1 - x0, y1 - y0) / (2 * EDGE);
  if (size > 1) return fittedInSquare(scaled(shape, 0.999 / size));
  const push = (low, high) => Math.max(0, -EDGE - low) - Math.max(0, high - EDGE);
  const step = [push(x0, x1), push(y0, y1)];
  return step[0] || step[1] ? moved(shape, step) : shape;
}

/** The point that is farthest out is pushed to the edge, again and again; where that does not help the shape shrinks. */
function fittedIn(given, radius) {
  let shape = given;
  for (let tries = 0; tries < STEPS; tries++) {
    for (let step = 0; step < STEPS; step++) {
      const { point, over } = farthest(shape, radius);
      if (over <= 0) return shape;
      const [x, y] = point, size = Math.hypot(x, y);
      shape = moved(shape, [(-x / size) * (over + 1e-3), (-y / size) * (over + 1e-3)]);
    }
    shape = scaled(shape, SHRINK);
  }
  return shape;
}

function farthest(shape, radius) {
  return outline(shape).reduce((most, point) => {
    const over = Math.hypot(...point) - EDGE * radius(Math.atan2(point[1], point[0]));
    return over > most.over ? { point, over } : most;
  }, { point: [0, 0], over: -Infinity });
}

/** How far the boundary is from the origin, as a function of the angle. */
function radii(body) {
  if (!known.has(body)) known.set(body, tabulated(body));
  const table = known.get(body);
  return (angle) => table[(Math.round((angle / (2 * Math.PI)) * AROUND) + AROUND) % AROUND];
}

function tabulated(body) {
  const polar = body.map(([x, y]) => [(Math.atan2(y, x) + 2 * Math.PI) % (2 * Math.PI), Math.hypot(x, y)]);
  polar.sort((p, q) => p[0] - q[0]);
  const around = [[polar.at(-1)[0] - 2 * Math.PI, polar.at(-1)[1]], ...polar, [polar[0][0] + 2 * Math.PI, polar[0][1]]];
  let k = 0;
  return Array.from({ length: AROUND }, (_, step) => {
    const angle = (step / AROUND) * 2 * Math.PI;
    while (around[k + 1][0] <= angle) k++;
    const [[a, r], [b, q]] = [around[k], around[k + 1]];
    return r + ((q - r) * (angle - a)) / (b - a || 1);
  });
}
