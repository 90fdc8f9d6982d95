// The graphs of a page without a server, in onnxruntime-web: φ and direct sampling, and the networks.

import { resampled } from "./boundary.js";
import { indicator } from "./conductivity.js";
import { levels, scores } from "./scores.js";

let ort, settings;
const sessions = new Map();

/** Load the runtime and the classical graph. */
export async function begin(given) {
  settings = given;
  ort = await import("../runtime/ort.wasm.min.mjs");
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = new URL("../runtime/", import.meta.url).href;
  await session(settings.classical);
}

async function session(file) {
  const url = new URL(`../${file}`, import.meta.url).href;
  if (!sessions.has(file)) sessions.set(file, await ort.InferenceSession.create(url));
  return sessions.get(file);
}

/** What a graph gives for boundary data. */
async function run(file, values, shape) {
  return (await session(file)).run({ difference: new ort.Tensor("float64", values, shape) });
}

/** φ of each current, and the mean of their indices, scaled to a largest value of 1. */
export async function directSampling(data, shapes) {
  const start = performance.now(), step = settings.cells / settings.shown, phi = [];
  const index = new Float64Array((settings.shown + 1) ** 2);
  for (const row of data) {
    const input = row.filter((_, k) => k % step === 0), out = await run(settings.classical, input, [1, input.length]);
    const limit = largest(out.phi.data.map(Math.abs));
    phi.push(levels(out.phi.data, -limit, limit));
    out.index.data.forEach((v, k) => (index[k] += v));
  }
  const most = largest(index), image = index.map((v) => v / most);
  const truth = shapes && scores(image, indicator(shapes, settings.shown));
  const result = { name: "direct sampling", image: levels(image, 0, 1), scores: truth };
  return { phi, classical: { ...result, seconds: (performance.now() - start) / 1000 } };
}

const largest = (values) => values.reduce((m, v) => Math.max(m, v), 0) || 1;

/** The image of a network; where it cannot read so many currents, the reason. */
export async function network(name, data, { tau = 0, shapes }) {
  const start = performance.now(), model = settings.models.find((one) => one.name === name);
  const { n, fewest, most, graph, calibrations } = model;
  if (data.length < fewest || data.length > most) {
    const reads = fewest === most ? most : `${fewest} to ${most}`;
    return { reason: `${name} reads ${reads} currents, not ${data.length}.` };
  }
  const size = 4 * n, input = new Float64Array(most * size).fill(NaN);
  data.forEach((row, l) => input.set(n === settings.cells ? row : resampled(row, n), l * size));
  const { logits } = await run(graph, input, [1, most, size]), t = temperature(calibrations[data.length], tau);
  const image = Float64Array.from(logits.data, (z) => 1 / (1 + Math.exp(-z / t)));
  return {
    image: levels(image, 0, 1),
    uncertainty: levels(image.map((p) => Math.sqrt(p * (1 - p))), 0, 0.5),
    noise: null,
    warnings: [],
    scores: shapes && scores(image, indicator(shapes, n)),
    seconds: (performance.now() - start) / 1000,
  };
}

/** Between the noise levels it was fitted at, linear; beyond them, the last. */
function temperature({ levels: x, temperatures: y }, at) {
  const k = x.findIndex((level) => at <= level);
  if (k === 0) return y[0];
  return k < 0 ? y.at(-1) : y[k - 1] + ((y[k] - y[k - 1]) * (at - x[k - 1])) / (x[k] - x[k - 1]);
}
