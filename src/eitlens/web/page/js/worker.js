// The computing half of a page without a server: forward solve, noise, and the graphs in onnxruntime-web.

import { indicator } from "../compute/body.js";
import { difference, resampled } from "../compute/forward.js";
import { addNoise } from "../compute/noise.js";
import { read } from "../compute/recorded.js";
import { levels, scores } from "../compute/scores.js";

let ort, settings, classical, newest = 0;
const sessions = new Map();
const pause = () => new Promise((resolve) => setTimeout(resolve));
class Superseded extends Error {}

self.addEventListener("message", async ({ data }) => {
  const { id } = data;
  newest = Math.max(newest, id);
  const check = async () => {
    await pause();
    if (id !== newest) throw new Superseded();
  };
  try {
    self.postMessage({ id, answer: data.settings ? await begin(data.settings) : await answer(data, check) });
  } catch (error) {
    self.postMessage({ id, reason: error instanceof Superseded ? null : error.message });
  }
});

async function begin(given) {
  settings = given;
  ort = await import("../runtime/ort.wasm.min.mjs");
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = new URL("../runtime/", import.meta.url).href;
  classical = await session(settings.classical);
  return true;
}

async function session(file) {
  if (!sessions.has(file)) sessions.set(file, await ort.InferenceSession.create(new URL(`../${file}`, import.meta.url).href));
  return sessions.get(file);
}

async function answer({ question, text, models }, check) {
  const start = performance.now();
  const clean = question ? difference(question.shapes, question.currents, settings.cells) : read(text, settings.cells);
  const data = question ? addNoise(clean, question.tau, question.seed) : clean;
  const known = question && { solver: "this browser's", clean: clean.map((row) => Float32Array.from(row)), seconds: { forward: (performance.now() - start) / 1000 } };
  await check();
  const told = { ...known, data: data.map((row) => Float32Array.from(row)), ...(await directSampling(data, question?.shapes)), images: [] };
  for (const name of question?.models ?? models) {
    await check();
    told.images.push({ name, ...(await network(settings.models.find((model) => model.name === name), data, question)) });
  }
  await check();
  return told;
}

async function directSampling(data, shapes) {
  const start = performance.now(), step = settings.cells / settings.shown, phi = [];
  let index = null;
  for (const row of data) {
    const input = Float64Array.from({ length: row.length / step }, (_, k) => row[k * step]);
    const out = await classical.run({ difference: new ort.Tensor("float64", input, [1, input.length]) });
    const limit = out.phi.data.reduce((m, v) => Math.max(m, Math.abs(v)), 0) || 1;
    phi.push(levels(out.phi.data, -limit, limit));
    index = index ? index.map((v, k) => v + out.index.data[k]) : Float64Array.from(out.index.data);
  }
  const largest = index.reduce((m, v) => Math.max(m, v), 0) || 1, image = index.map((v) => v / largest);
  const result = { name: "direct sampling", image: levels(image, 0, 1), scores: shapes ? scores(image, indicator(shapes, settings.shown)) : null };
  return { phi, classical: { ...result, seconds: (performance.now() - start) / 1000 } };
}

async function network(model, data, question) {
  if (data.length < model.fewest || data.length > model.most) return { reason: `${model.name} reads ${model.fewest === model.most ? model.most : `${model.fewest} to ${model.most}`} currents, not ${data.length}.` };
  const start = performance.now(), size = 4 * model.n, input = new Float64Array(model.most * size).fill(NaN);
  data.forEach((row, l) => input.set(model.n === settings.cells ? row : resampled(row, model.n), l * size));
  const { logits } = await (await session(model.graph)).run({ difference: new ort.Tensor("float64", input, [1, model.most, size]) });
  const t = temperature(model.calibrations[data.length], question?.tau ?? 0), image = Float64Array.from(logits.data, (z) => 1 / (1 + Math.exp(-z / t)));
  return {
    image: levels(image, 0, 1),
    uncertainty: levels(image.map((p) => Math.sqrt(p * (1 - p))), 0, 0.5),
    noise: null,
    warnings: [],
    scores: question ? scores(image, indicator(question.shapes, model.n)) : null,
    seconds: (performance.now() - start) / 1000,
  };
}

/** Between the noise levels it was fitted at, linear; beyond them, the last. */
function temperature({ levels: x, temperatures: y }, at) {
  const k = x.findIndex((level) => at <= level);
  if (k === 0) return y[0];
  return k < 0 ? y.at(-1) : y[k - 1] + ((y[k] - y[k - 1]) * (at - x[k - 1])) / (x[k] - x[k - 1]);
}
