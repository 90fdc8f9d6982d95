// Shapes in the body (-1, 1)², plain objects that are never changed in place. They have the form of a phantom file:
//   {kind: "ellipse", center: [x, y], semi_axes: [a, b], angle, conductivity}
//   {kind: "polygon", vertices: [[x, y], …], conductivity}
// and on the page an `id` besides.

import { short } from "../dom.js";

export const EDGE = 0.96; // shapes stay inside [-EDGE, EDGE]²
export const SMALLEST = 0.04;
let made = 0;

export const add = (p, q) => [p[0] + q[0], p[1] + q[1]];
export const turned = ([x, y], t) => [x * Math.cos(t) - y * Math.sin(t), x * Math.sin(t) + y * Math.cos(t)];
export const apart = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
export const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

export const withId = (shape) => ({ id: `s${Date.now().toString(36)}${made++}`, ...shape });

/** As in a phantom file. */
export const withoutId = ({ id: _, ...shape }) => shape;

/** Points along the outline, for drawing, hit tests and bounds. */
export function outline(shape, count = 72) {
  if (shape.kind === "polygon") return shape.vertices;
  const [a, b] = shape.semi_axes;
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
  const [x0, y0, x1, y1] = bounds(shape.vertices);
  return [(x0 + x1) / 2, (y0 + y1) / 2];
}

export function moved(shape, step) {
  if (shape.kind === "ellipse") return { ...shape, center: add(shape.center, step) };
  return { ...shape, vertices: shape.vertices.map((p) => add(p, step)) };
}

export function rotated(shape, by) {
  if (shape.kind === "ellipse") return { ...shape, angle: (shape.angle + by) % (2 * Math.PI) };
  const c = centre(shape);
  return { ...shape, vertices: shape.vertices.map(([x, y]) => add(c, turned([x - c[0], y - c[1]], by))) };
}

/** Scaled about the centre by factors along its first and second axis (x and y for polygons). */
export function scaled(shape, fx, fy = fx) {
  if (shape.kind === "ellipse") {
    const [a, b] = shape.semi_axes;
    return { ...shape, semi_axes: [clamp(a * fx, SMALLEST, EDGE), clamp(b * fy, SMALLEST, EDGE)] };
  }
  const c = centre(shape), [x0, y0, x1, y1] = bounds(shape.vertices);
  const sx = Math.max(fx, (2 * SMALLEST) / (x1 - x0)), sy = Math.max(fy, (2 * SMALLEST) / (y1 - y0));
  return { ...shape, vertices: shape.vertices.map(([x, y]) => [c[0] + (x - c[0]) * sx, c[1] + (y - c[1]) * sy]) };
}

/** What a screen reader says of a shape. */
export function describe(shape) {
  const two = (v) => (Math.round(100 * v) / 100 + 0).toFixed(2);
  const [x, y] = centre(shape).map(two), [width, height] = extent(shape).map(two);
  const turn = Math.round(((((shape.angle ?? 0) * 180) / Math.PI) % 180 + 180) % 180);
  const kind = shape.kind === "ellipse" ? "Ellipse" : `Polygon with ${shape.vertices.length} corners`;
  const size = `${width} by ${height}${turn ? `, turned ${turn}°` : ""}`;
  return `${kind} at ${x}, ${y}, ${size}, conductivity ${short(shape.conductivity)}`;
}

/** Its two lengths: along its own axes for an ellipse, along x and y for a polygon. */
function extent(shape) {
  if (shape.kind === "ellipse") return shape.semi_axes.map((r) => 2 * r);
  const [x0, y0, x1, y1] = bounds(shape.vertices);
  return [x1 - x0, y1 - y0];
}

/** A few random ellipses that do not touch, each put into the body by `fit`. */
export function randomShapes(conductivities, fit) {
  const shapes = [], count = between(2, 5);
  for (let tries = 0; tries < 200 && shapes.length < Math.floor(count); tries++) {
    const shape = fit(randomEllipse(conductivities[shapes.length % conductivities.length]));
    if (shapes.every((other) => separate(shape, other))) shapes.push(shape);
  }
  return shapes;
}

const between = (low, high) => low + (high - low) * Math.random();

function randomEllipse(conductivity) {
  const center = [between(-0.7, 0.7), between(-0.7, 0.7)], semi_axes = [between(0.12, 0.34), between(0.1, 0.24)];
  return withId({ kind: "ellipse", center, semi_axes, angle: between(0, Math.PI), conductivity });
}

const separate = (one, other) =>
  apart(one.center, other.center) > 0.35 &&
  outline(one, 24).every((p) => outline(other, 24).every((q) => apart(p, q) > 0.08));
