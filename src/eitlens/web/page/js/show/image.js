// A nodal field on a canvas, with the true outlines on top. A field is {nodes, low, high, levels}: a byte a node,
// from `low` to `high`, in rows of x; in the picture y points up.

import { outline } from "../draw/shapes.js";

const LEAST = 160; // pixels a side
// Colours of even steps in lightness.
const SEQUENTIAL = "000004 150e38 3b0f70 641a80 8c2981 b73779 de4968 f7705c fe9f6d fecf92 fcfdbf";
const DIVERGING = "1c4f8c 3f81b8 85b5d6 c5dcea f4f3f1 f7d3c0 ec9f81 cb5f4d 93202f";

/** Red, green and blue of 256 levels, interpolated between colours. */
function table(colours) {
  const stops = colours.split(" ").map((c) => [0, 2, 4].map((k) => parseInt(c.slice(k, k + 2), 16)));
  return Array.from({ length: 256 }, (_, level) => {
    const at = (level / 255) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((v, c) => Math.round(v + (at - k) * (stops[k + 1][c] - v)));
  });
}

export const sequential = table(SEQUENTIAL);
export const diverging = table(DIVERGING);

/**
 * @param canvas where it goes
 * @param field what is shown
 * @param colours of 256 levels
 * @param shapes the truth, drawn on top
 * @param body the outline of the body, outside which nothing is shown; null for the square
 * @param {number} most the end of the scale of colours, where several fields share one
 */
export function paint(canvas, field, colours, shapes = [], body = null, most = field.high) {
  const dots = devicePixelRatio || 1, size = Math.max(LEAST, Math.round(canvas.clientWidth * dots));
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.save();
  if (body) context.clip(traced(body, size));
  context.drawImage(bitmap(field, colours, field.high / (most || 1)), 0, 0, size, size);
  context.restore();
  if (body) edge(context, traced(body, size), dots);
  trace(context, shapes, size, dots);
}

function traced(points, size) {
  const path = new Path2D();
  for (const [x, y] of points) path.lineTo(((x + 1) / 2) * size, ((1 - y) / 2) * size);
  path.closePath();
  return path;
}

function edge(context, path, dots) {
  context.lineWidth = 2 * dots;
  context.strokeStyle = "rgb(128 134 148 / 80%)";
  context.stroke(path);
}

export function clear(canvas) {
  canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
}

function bitmap({ nodes, levels, low }, colours, part) {
  const zero = low < 0 ? 127.5 : 0; // the level that stays where it is when the scale is longer than the field
  const looked = colours.map((_, level) => colours[Math.round(zero + (level - zero) * Math.min(1, part))]);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = nodes;
  const context = canvas.getContext("2d"), image = context.createImageData(nodes, nodes);
  for (let i = 0; i < nodes; i++) {
    for (let j = 0; j < nodes; j++) {
      const at = 4 * ((nodes - 1 - j) * nodes + i), [r, g, b] = looked[levels[i * nodes + j]];
      image.data[at] = r;
      image.data[at + 1] = g;
      image.data[at + 2] = b;
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The truth as a light line with a dark rim, visible on any colour. */
function trace(context, shapes, size, dots) {
  for (const { width, colour } of [{ width: 3.4, colour: "rgb(0 0 0 / 50%)" }, { width: 1.5, colour: "#fff" }]) {
    context.lineWidth = width * dots;
    context.strokeStyle = colour;
    for (const shape of shapes) context.stroke(traced(outline(shape), size));
  }
}

/** How much lies inside, for those who cannot see the picture. */
export function describe(name, { levels }) {
  const inside = levels.reduce((sum, v) => sum + (v > 127), 0) / levels.length;
  return `${name}: ${(100 * inside).toFixed(1)} % of the body is taken to be inside`;
}
