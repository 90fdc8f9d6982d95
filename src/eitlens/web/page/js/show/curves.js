// f - f0 along the boundary, a curve a current: thin as measured, bold without the noise where it is known.

import { svg } from "../dom.js";

const LEFT = 44, RIGHT = 10, TOP = 10, BOTTOM = 24;
const SIDES = ["bottom", "right", "top", "left"];

export function chart(root, data, clean) {
  const width = root.clientWidth || 600, height = root.clientHeight || 210;
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const largest = ceiling(Math.max(1e-12, ...[...data, ...(clean ?? [])].map(top)));
  const x = (t) => LEFT + t * (width - LEFT - RIGHT);
  const y = (v) => TOP + (1 - v / largest) * 0.5 * (height - TOP - BOTTOM);
  const point = (v, k, { length }) => `${k ? "L" : "M"}${x(k / length).toFixed(1)} ${y(v).toFixed(1)}`;
  const d = (values) => [...values].map(point).join("");
  const bold = clean ?? data, noisy = clean && data.some((row, k) => row.some((v, i) => v !== clean[k][i]));
  root.replaceChildren(
    ...axes(x, y, largest, height),
    ...(noisy ? data : []).map((row, k) => svg("path", { class: `noisy l${k + 1}`, d: d(row) })),
    ...bold.map((row, k) => svg("path", { class: `l${k + 1}`, d: d(row) })),
  );
}

function axes(x, y, largest, height) {
  const text = (v) => (v === 0 ? "0" : v.toPrecision(1).replaceAll("-", "−"));
  const label = (v) => svg("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, text(v));
  const line = (v) => svg("line", { class: "axis", x1: x(0), x2: x(1), y1: y(v), y2: y(v) });
  const rows = [-largest, 0, largest].flatMap((v) => [line(v), label(v)]);
  const sides = SIDES.flatMap((name, k) => [
    svg("line", { class: "side", x1: x(k / 4), x2: x(k / 4), y1: TOP, y2: height - BOTTOM }),
    svg("text", { x: x((k + 0.5) / 4), y: height - 7, "text-anchor": "middle" }, name),
  ]);
  return [...rows, ...sides];
}

const top = (row) => row.reduce((m, v) => Math.max(m, Math.abs(v)), 0);

/** The next number of the form 1, 2 or 5 times a power of ten. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((k) => k * power >= value * 0.999) * power;
}
