// Shapes in the body (-1, 1)² as plain objects, never changed in place:
//   {id, kind: "ellipse", center: [x, y], axes: [a, b], angle, sigma}
//   {id, kind: "polygon", points: [[x, y], …], sigma}

export const EDGE = 0.96; // shapes stay inside [-EDGE, EDGE]²
export const SMALLEST = 0.04;
const CLOSED = 0.03, TOUCH = 1e-6; // how near the end of a stroke is its beginning, and a corner to an edge on it

const add = (p, q) => [p[0] + q[0], p[1] + q[1]];
const turned = ([x, y], t) => [x * Math.cos(t) - y * Math.sin(t), x * Math.sin(t) + y * Math.cos(t)];
const apart = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

/** Points along the outline, for drawing, hit tests and bounds. */
export function outline(shape, count = 72) {
  if (shape.kind === "polygon") return shape.points;
  const [a, b] = shape.axes;
  return Array.from({ length: count }, (_, k) => {
    const t = (2 * Math.PI * k) / count;
    return add(shape.center, turned([a * Math.cos(t), b * Math.sin(t)], shape.angle));
  });
}

export function bounds(points) {
  const x = points.map((p) => p[0]), y = points.map((p) => p[1]);
  return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}

export function centre(shape) {
  if (shape.kind === "ellipse") return shape.center;
  const [x0, y0, x1, y1] = bounds(shape.points);
  return [(x0 + x1) / 2, (y0 + y1) / 2];
}

export function moved(shape, step) {
  if (shape.kind === "ellipse") return { ...shape, center: add(shape.center, step) };
  return { ...shape, points: shape.points.map((p) => add(p, step)) };
}

export function rotated(shape, by) {
  if (shape.kind === "ellipse") return { ...shape, angle: (shape.angle + by) % (2 * Math.PI) };
  const c = centre(shape);
  return { ...shape, points: shape.points.map(([x, y]) => add(c, turned([x - c[0], y - c[1]], by))) };
}

/** Scaled about the centre by factors along its first and second axis (x and y for polygons). */
export function scaled(shape, fx, fy = fx) {
  if (shape.kind === "ellipse") {
    const [a, b] = shape.axes;
    return { ...shape, axes: [clamp(a * fx, SMALLEST, EDGE), clamp(b * fy, SMALLEST, EDGE)] };
  }
  const c = centre(shape), [x0, y0, x1, y1] = bounds(shape.points);
  const sx = Math.max(fx, (2 * SMALLEST) / (x1 - x0)), sy = Math.max(fy, (2 * SMALLEST) / (y1 - y0));
  return { ...shape, points: shape.points.map(([x, y]) => [c[0] + (x - c[0]) * sx, c[1] + (y - c[1]) * sy]) };
}

/** The shape made to fit the body: shrunk if it is too large, then moved inside. */
export function fitted(shape) {
  const [x0, y0, x1, y1] = bounds(outline(shape));
  const size = Math.max(x1 - x0, y1 - y0) / (2 * EDGE);
  if (size > 1) return fitted(scaled(shape, 0.999 / size));
  const push = (low, high) => Math.max(0, -EDGE - low) - Math.max(0, high - EDGE);
  const step = [push(x0, x1), push(y0, y1)];
  return step[0] || step[1] ? moved(shape, step) : shape;
}

export function area(points) {
  return points.reduce((sum, [x, y], k) => {
    const [u, v] = points[(k + 1) % points.length];
    return sum + (x * v - u * y) / 2;
  }, 0);
}

/** A freehand stroke as a simple polygon of at most `most` corners, or null if there is nothing to it. */
export function fromStroke(stroke, most = 40) {
  const open = stroke.filter((p, k) => k < 3 || k < stroke.length / 2 || apart(p, stroke[0]) > CLOSED);
  let tolerance = 0.008, points = simplified(open, tolerance);
  while (points.length > most) points = simplified(open, (tolerance *= 1.4));
  points = untangled(points);
  return points.length >= 3 && Math.abs(area(points)) > 0.003 ? points : null;
}

/** Douglas and Peucker: leave out what is nearer than `tolerance` to the line between its neighbours. */
export function simplified(points, tolerance) {
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

/** What a screen reader says of a shape. */
export function describe(shape) {
  const [x, y] = centre(shape).map((v) => (Math.round(100 * v) / 100 + 0).toFixed(2));
  const kind = shape.kind === "ellipse" ? "Ellipse" : `Polygon with ${shape.points.length} corners`;
  return `${kind} at ${x}, ${y}, conductivity ${short(shape.sigma)}`;
}

export const short = (value) => Number(value.toPrecision(2)).toString();

/** As the server and the local engine read it. */
export function toWire(shape) {
  const round = (v) => Math.round(v * 1e5) / 1e5;
  if (shape.kind === "ellipse") {
    return { kind: "ellipse", center: shape.center.map(round), semi_axes: shape.axes.map(round), angle: round(shape.angle), conductivity: shape.sigma };
  }
  return { kind: "polygon", vertices: shape.points.map((p) => p.map(round)), conductivity: shape.sigma };
}
