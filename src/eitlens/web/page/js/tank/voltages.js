// The readings of a tank: those of one stimulation as a chart, and what changed in all of them as a table of colours.

import { short, svg } from "../dom.js";
import { diverging } from "../show/image.js";

const LEFT = 52, RIGHT = 10, TOP = 12, BOTTOM = 26, WORD = 48;

/** Readings of one frame: `kind` is "change" (from the empty tank) or "voltages" (both). */
export function chartReadings(root, { readings, pattern }, frame, stimulation, kind) {
  const width = root.clientWidth || 600, height = root.clientHeight || 210, { channels: count } = readings;
  const row = (table) => table && [...table.slice(stimulation * count, (stimulation + 1) * count)];
  const now = row(readings.frames[frame]), before = row(readings.reference);
  const change = before && now.map((v, k) => v - before[k]);
  /** @type {any[][]} */
  const lines = kind === "change" && change
    ? [["now", change]]
    : [["empty", before], ["now", now]].filter(([, v]) => v);
  const unit = units(Math.max(...lines.flatMap(([, values]) => values.map(size))));
  const all = lines.flatMap(([, values]) => values.filter(Number.isFinite)).map((v) => v * unit.times);
  const low = Math.min(0, ...all), high = Math.max(0, ...all), span = high - low || 1;
  const x = (k) => LEFT + ((k + 0.5) / count) * (width - LEFT - RIGHT);
  const y = (v) => TOP + ((high - v * unit.times) / span) * (height - TOP - BOTTOM);
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const drawn = kind === "change" && change
    ? bars(change, x, y, (0.6 * (width - LEFT - RIGHT)) / count)
    : lines.flatMap(
      ([name, values]) => [svg("path", { class: name, d: broken(values, x, y) }), ...dots(values, name, x, y)],
    );
  root.replaceChildren(
    ...axes({ low, high, unit, y, width, height }),
    ...names(pattern, stimulation, count, x, height),
    ...drawn,
  );
  return change ? `largest change ${short(Math.max(...change.map(size)) * unit.times)} ${unit.name}` : "";
}

const size = (v) => (Number.isFinite(v) ? Math.abs(v) : 0);

const UNITS = [{ times: 1, name: "V" }, { times: 1e3, name: "mV" }, { times: 1e6, name: "µV" }];
const units = (most) => UNITS.find(({ times }) => most * times >= 1) ?? UNITS[2];

function axes({ low, high, unit, y, width, height }) {
  const text = (v) => short(v).replaceAll("-", "−");
  return [low, 0, high].filter((v, k, all) => all.indexOf(v) === k).flatMap((v) => [
    svg("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(v / unit.times), y2: y(v / unit.times) }),
    svg("text", { x: LEFT - 6, y: y(v / unit.times) + 4, "text-anchor": "end" }, text(v)),
  ]).concat(svg("text", { x: LEFT - 6, y: height - 8, "text-anchor": "end" }, unit.name));
}

function names(pattern, stimulation, count, x, height) {
  const pairs = pattern.channels[pattern.channels.length > 1 ? stimulation : 0],
    every = Math.ceil((count * WORD) / x(count));
  return pairs.flatMap((pair, k) =>
    k % every
      ? []
      : [svg("text", { x: x(k), y: height - 8, "text-anchor": "middle" }, pair ? pair.join("–") : `${k + 1}`)]
  );
}

function broken(values, x, y) {
  let pen = "M";
  return values.map((v, k) => {
    if (!Number.isFinite(v)) return ((pen = "M"), "");
    const piece = `${pen}${x(k).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = "L";
    return piece;
  }).join("");
}

const dots = (values, name, x, y) =>
  values.flatMap((v, k) => (Number.isFinite(v) ? [svg("circle", { class: name, cx: x(k), cy: y(v), r: 2.4 })] : []));

const bars = (values, x, y, width) =>
  values.flatMap((v, k) => {
    if (!Number.isFinite(v)) return [];
    const [top, low] = [Math.min(y(v), y(0)), Math.max(y(v), y(0))];
    return [
      svg("rect", {
        class: v < 0 ? "down" : "up",
        x: x(k) - width / 2,
        y: top,
        width,
        height: Math.max(0.5, low - top),
      }),
    ];
  });

/** All changes at once: a row a stimulation, a column a channel. */
export function table(canvas, { readings, pattern }, frame, stimulation) {
  const rows = pattern.drives.length, columns = readings.channels, now = readings.frames[frame];
  const change = Array.from(now, (v, k) => v - (readings.reference?.[k] ?? 0));
  const most = Math.max(1e-30, ...change.map(size));
  const dots = devicePixelRatio || 1, side = Math.max(160, Math.round(canvas.clientWidth * dots));
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d"), w = side / columns, h = side / rows;
  change.forEach((v, k) => {
    if (!Number.isFinite(v)) return;
    const [r, g, b] = diverging[Math.round(127.5 + 127.5 * (v / most))];
    context.fillStyle = `rgb(${r} ${g} ${b})`;
    context.fillRect((k % columns) * w, Math.floor(k / columns) * h, Math.ceil(w), Math.ceil(h));
  });
  context.lineWidth = 2 * dots;
  context.strokeStyle = getComputedStyle(canvas).color;
  context.strokeRect(dots, stimulation * h + dots, side - 2 * dots, Math.max(h - 2 * dots, 2));
}

/** What a stimulation does, in words. */
export function driven(pattern, stimulation) {
  const pair = pattern.drives[stimulation];
  return pair ? `current from ${pair[0]} to ${pair[1]}` : `current pattern ${stimulation + 1}`;
}
