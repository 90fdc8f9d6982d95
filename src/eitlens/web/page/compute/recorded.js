// A measurement file without a server: JSON, evenly spaced points, cosine currents, with its reference.

import { centred, cosineCurrent, loop, resampled } from "./forward.js";

const SUPPORTED = "this page computes in the browser and reads .json with evenly spaced points, currents cos lθ and a reference";

export function read(text, cells) {
  const given = parse(text), rows = (name) => list(given[name], name);
  const points = rows("points"), voltages = rows("voltages"), reference = rows("reference"), currents = rows("currents");
  const n = points.length / 4;
  if (!Number.isInteger(n) || n < 8 || n > 2000 || !evenly(points, n)) throw new Error(`points: ${SUPPORTED}.`);
  if (voltages.length > 3 || !voltages.length || [...voltages, ...reference, ...currents].some((row) => row.length !== 4 * n)) throw new Error("voltages: expected one to three rows, a number for each point.");
  if (reference.length !== voltages.length || currents.length !== voltages.length || !currents.every((row, l) => same(row, cosineCurrent(l + 1, n)))) throw new Error(`currents: ${SUPPORTED}.`);
  const conductivity = given.conductivity ?? 1;
  return voltages.map((row, l) => resampled(centred(Float64Array.from(row, (v, k) => (v - reference[l][k]) * conductivity)), cells));
}

function parse(text) {
  try {
    const given = JSON.parse(text);
    if (given && typeof given === "object") return given;
  } catch {
    // told below
  }
  throw new Error(`not a JSON object: ${SUPPORTED}.`);
}

function list(rows, name) {
  const good = Array.isArray(rows) && rows.every((row) => Array.isArray(row) && row.every(Number.isFinite));
  if (!good) throw new Error(`${name}: expected rows of numbers; ${SUPPORTED}.`);
  return rows;
}

const evenly = (points, n) => loop(n).every((k, at) => same(points[at], [-1 + (2 * Math.floor(k / (n + 1))) / n, -1 + (2 * (k % (n + 1))) / n]));
const same = (row, other) => row.length === other.length && row.every((v, k) => Math.abs(v - other[k]) < 1e-3);
