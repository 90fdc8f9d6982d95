// Measurement files of the page: f - f0 as voltages against a reference, at evenly spaced points, for currents cos lθ.

import { centred, cosineCurrent, points, resampled } from "./boundary.js";

const SUPPORTED =
  "this page computes in the browser and reads .json with evenly spaced points, currents cos lθ and a reference";
const FEWEST = 8, MOST = 2000; // points a side

/** The file of f - f0, as `eitlens reconstruct` reads it: the reference is zero. */
export function written(data) {
  const n = data[0].length / 4, voltages = data.map((row) => Array.from(row, (v) => Number(v.toPrecision(8))));
  const currents = data.map((_, l) => Array.from(cosineCurrent(l + 1, n)));
  return { points: points(n), currents, voltages, reference: voltages.map((row) => row.map(() => 0)) };
}

/** f - f0 on a loop of 4 × `cells` nodes, from the text of a file. */
export function read(text, cells) {
  const given = parse(text), names = ["points", "voltages", "reference", "currents"];
  const [places, voltages, reference, currents] = names.map((name) => list(given[name], name));
  const n = places.length / 4, count = voltages.length, whole = (row) => row.length === 4 * n;
  expect(Number.isInteger(n) && n >= FEWEST && n <= MOST && evenly(places, n), `points: ${SUPPORTED}.`);
  const complete = [...voltages, ...reference, ...currents].every(whole);
  expect(count >= 1 && count <= 3 && complete, "voltages: expected one to three rows, a number for each point.");
  const known = currents.every((row, l) => same(row, cosineCurrent(l + 1, n)));
  expect(reference.length === count && currents.length === count && known, `currents: ${SUPPORTED}.`);
  const conductivity = given.conductivity ?? 1;
  const difference = (row, l) => Float64Array.from(row, (v, k) => (v - reference[l][k]) * conductivity);
  return voltages.map((row, l) => resampled(centred(difference(row, l)), cells));
}

function expect(good, reason) {
  if (!good) throw new Error(reason);
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
  expect(good, `${name}: expected rows of numbers; ${SUPPORTED}.`);
  return rows;
}

const evenly = (places, n) => points(n).every((point, k) => same(places[k], point));
const same = (row, other) => row.length === other.length && row.every((v, k) => Math.abs(v - other[k]) < 1e-3);
