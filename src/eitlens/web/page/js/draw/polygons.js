// Polygons from strokes and clicks: few corners, and an outline that does not cross itself.

import { add, apart, clamp, turned } from "./shapes.js";

const CLOSED = 0.03, TOUCH = 1e-6; // how near the end of a stroke is its beginning, and a corner to an edge on it
const LEAST_AREA = 0.003, MOST_CORNERS = 40;

export function area(points) {
  return points.reduce((sum, [x, y], k) => {
    const [u, v] = points[(k + 1) % points.length];
    return sum + (x * v - u * y) / 2;
  }, 0);
}

/** A freehand stroke as a simple polygon, or null if there is nothing to it. */
export function fromStroke(stroke) {
  const open = stroke.filter((p, k) => k < 3 || k < stroke.length / 2 || apart(p, stroke[0]) > CLOSED);
  let tolerance = 0.008, points = simplified(open, tolerance);
  while (points.length > MOST_CORNERS) points = simplified(open, tolerance *= 1.4);
  points = untangled(points);
  return points.length >= 3 && Math.abs(area(points)) > LEAST_AREA ? points : null;
}

/** Douglas and Peucker: leave out what is nearer than `tolerance` to the line between its neighbours. */
function simplified(points, tolerance) {
  if (points.length < 3) return points;
  const [a, b] = [points[0], points[points.length - 1]];
  let far = 0, at = 0;
  for (let k = 1; k < points.length - 1; k++) {
    const d = distance(points[k], a, b);
    if (d > far) [far, at] = [d, k];
  }
  if (far <= tolerance) return [a, b];
  return [...simplified(points.slice(0, at + 1), tolerance).slice(0, -1), ...simplified(points.slice(at), tolerance)];
}

function distance(p, a, b) {
  const e = [b[0] - a[0], b[1] - a[1]], length = e[0] ** 2 + e[1] ** 2;
  const t = length ? clamp(((p[0] - a[0]) * e[0] + (p[1] - a[1]) * e[1]) / length, 0, 1) : 0;
  return Math.hypot(p[0] - a[0] - t * e[0], p[1] - a[1] - t * e[1]);
}

/** Where the segments ab and cd cross or touch, or null. */
function crossing(a, b, c, d) {
  const r = [b[0] - a[0], b[1] - a[1]], s = [d[0] - c[0], d[1] - c[1]];
  const det = r[0] * s[1] - r[1] * s[0];
  if (Math.abs(det) < 1e-14) return null;
  const t = ((c[0] - a[0]) * s[1] - (c[1] - a[1]) * s[0]) / det;
  const u = ((c[0] - a[0]) * r[1] - (c[1] - a[1]) * r[0]) / det;
  return [t, u].every((v) => v > -TOUCH && v < 1 + TOUCH) ? [a[0] + t * r[0], a[1] + t * r[1]] : null;
}

/** Cut off the smaller loop at each place where the outline crosses or touches itself. */
export function untangled(given) {
  const points = given.filter((p, k) => apart(p, given[(k + 1) % given.length]) > 1e-3), n = points.length;
  for (let i = 0; i < n; i++) {
    for (let j = i + 2; j < n; j++) {
      if (i === 0 && j === n - 1) continue;
      const p = crossing(points[i], points[i + 1], points[j], points[(j + 1) % n]);
      if (!p) continue;
      const inner = [p, ...points.slice(i + 1, j + 1)], outer = [...points.slice(0, i + 1), p, ...points.slice(j + 1)];
      return untangled(Math.abs(area(inner)) > Math.abs(area(outer)) ? inner : outer);
    }
  }
  return points;
}

export const regular = (center, radius, corners = 5) =>
  Array.from({ length: corners }, (_, k) => add(center, turned([0, radius], (2 * Math.PI * k) / corners)));
