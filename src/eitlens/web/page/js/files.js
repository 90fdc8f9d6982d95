// Files: the measurement as `eitlens reconstruct` reads it, and the picture.

import { title } from "./results.js";

export function download(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Boundary points, currents cos lθ, and f - f0 as voltages against a reference of zero. */
export function measurement(data) {
  const size = data[0].length, points = Array.from({ length: size }, (_, k) => node(k / (size / 4)));
  const currents = data.map((_, l) => centred(points.map(([x, y]) => Math.cos((l + 1) * Math.atan2(y, x)))));
  const voltages = data.map((row) => Array.from(row, (v) => Number(v.toPrecision(8))));
  return { points, currents, voltages, reference: voltages.map((row) => row.map(() => 0)) };
}

export function node(sides) {
  const t = 2 * (sides % 1) - 1;
  return [[t, -1], [1, t], [-t, 1], [-1, -t]][Math.floor(sides) % 4];
}

function centred(values) {
  const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
  return values.map((v) => v - mean);
}

/** All results side by side with their scores, as one picture. */
export function picture(cards, caption) {
  const size = 480, gap = 24, head = 44, foot = 92, count = cards.length;
  const canvas = Object.assign(document.createElement("canvas"), { width: count * (size + gap) + gap, height: head + size + foot });
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  cards.forEach((card, k) => {
    const x = gap + k * (size + gap);
    context.fillStyle = "#191b22";
    context.font = "600 22px system-ui, sans-serif";
    context.fillText(title(card.name), x, 30);
    context.drawImage(card.canvas, x, head, size, size);
    context.font = "20px system-ui, sans-serif";
    context.fillText(card.text, x, head + size + 34);
  });
  context.fillStyle = "#5c6270";
  context.font = "17px system-ui, sans-serif";
  context.fillText(caption, gap, canvas.height - 18);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
