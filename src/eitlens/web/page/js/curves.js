// f - f0 along the boundary, a curve a current: thin as measured, bold without the noise where it is known.

import { element } from "./svg.js";

const LEFT = 44, RIGHT = 10, TOP = 10, BOTTOM = 24;
const SIDES = ["bottom", "right", "top", "left"];

export function chart(svg, data, clean) {
  const width = svg.clientWidth || 600, height = svg.clientHeight || 210;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const largest = ceiling(Math.max(1e-12, ...[...data, ...(clean ?? [])].map(top)));
  const x = (t) => LEFT + t * (width - LEFT - RIGHT), y = (v) => TOP + (1 - v / largest) * 0.5 * (height - TOP - BOTTOM);
  const d = (values) => Array.from(values, (v, k) => `${k ? "L" : "M"}${x(k / values.length).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const bold = clean ?? data, noisy = clean && data.some((row, k) => row.some((v, i) => v !== clean[k][i]));
  svg.replaceChildren(
    ...axes(x, y, largest, height),
    ...(noisy ? data.map((row, k) => element("path", { class: `noisy l${k + 1}`, d: d(row) })) : []),
    ...bold.map((row, k) => element("path", { class: `l${k + 1}`, d: d(row) })),
  );
}

function axes(x, y, largest, height) {
  const label = (v) => element("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, v === 0 ? "0" : v.toPrecision(1).replace("e-", "e−").replace("-", "−"));
  const rows = [-largest, 0, largest].flatMap((v) => [element("line", { class: "axis", x1: x(0), x2: x(1), y1: y(v), y2: y(v) }), label(v)]);
  const sides = SIDES.flatMap((name, k) => [
    element("line", { class: "side", x1: x(k / 4), x2: x(k / 4), y1: TOP, y2: height - BOTTOM }),
    element("text", { x: x((k + 0.5) / 4), y: height - 7, "text-anchor": "middle" }, name),
  ]);
  return [...rows, ...sides];
}

const top = (row) => row.reduce((m, v) => Math.max(m, Math.abs(v)), 0);

/** The next number of the form 1, 2 or 5 times a power of ten. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((k) => k * power >= value * 0.999) * power;
}
