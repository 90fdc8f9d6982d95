// A nodal field on a canvas, with the true outlines on top. A field is {nodes, low, high, levels}: a byte a node,
// from `low` to `high`, in rows of x; in the picture y points up.

import { outline } from "./geometry.js";

const LEAST = 160;

export function paint(canvas, field, colours, shapes = []) {
  const dots = window.devicePixelRatio || 1, size = Math.max(LEAST, Math.round(canvas.clientWidth * dots));
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap(field, colours), 0, 0, size, size);
  trace(context, shapes, size, dots);
}

export function clear(canvas) {
  canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
}

function bitmap({ nodes, levels }, colours) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = nodes;
  const context = canvas.getContext("2d"), image = context.createImageData(nodes, nodes);
  for (let i = 0; i < nodes; i++) {
    for (let j = 0; j < nodes; j++) {
      const at = 4 * ((nodes - 1 - j) * nodes + i), [r, g, b] = colours[levels[i * nodes + j]];
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
  for (const [width, colour] of [[3.4, "rgb(0 0 0 / 50%)"], [1.5, "#fff"]]) {
    context.lineWidth = width * dots;
    context.strokeStyle = colour;
    for (const shape of shapes) {
      context.beginPath();
      for (const [x, y] of outline(shape)) context.lineTo(((x + 1) / 2) * size, ((1 - y) / 2) * size);
      context.closePath();
      context.stroke();
    }
  }
}

/** How much lies inside, for those who cannot see the picture. */
export function describe(name, { levels }) {
  const inside = levels.reduce((sum, v) => sum + (v > 127), 0) / levels.length;
  return `${name}: ${(100 * inside).toFixed(1)} % of the body is taken to be inside`;
}
