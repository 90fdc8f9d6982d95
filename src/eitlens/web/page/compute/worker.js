// The computing half of a page without a server: answers questions one after the other; a newer one ends an older one.

import { addNoise } from "./boundary.js";
import { difference } from "./forward.js";
import { begin, directSampling, network } from "./graphs.js";
import { read } from "./measurement.js";

let settings, newest = 0;
class Superseded extends Error {}

self.addEventListener("message", async ({ data }) => {
  const { id } = data;
  newest = Math.max(newest, id);
  const check = async () => {
    await new Promise((resolve) => setTimeout(resolve)); // lets newer messages in
    if (id !== newest) throw new Superseded();
  };
  try {
    self.postMessage({ id, answer: data.settings ? await setUp(data.settings) : await answer(data.question, check) });
  } catch (error) {
    self.postMessage({ id, reason: error instanceof Superseded ? null : error.message });
  }
});

async function setUp(given) {
  settings = given;
  await begin(settings);
  return true;
}

async function answer(question, check) {
  const { clean, data, ...told } = question.text === undefined ? measured(question) : opened(question);
  await check();
  const single = (rows) => rows?.map((row) => Float32Array.from(row));
  const found = { ...told, clean: single(clean), data: single(data), ...(await directSampling(data, question.shapes)) };
  const images = [];
  for (const name of question.models) {
    await check();
    images.push({ name, ...(await network(name, data, question)) });
  }
  await check();
  return { ...found, images };
}

/** The data of a drawing, without and with noise. */
function measured({ shapes, currents, tau, seed }) {
  const start = performance.now(), clean = difference(shapes, currents, settings.cells);
  const seconds = { forward: (performance.now() - start) / 1000 };
  return { clean, data: addNoise(clean, tau, seed), solver: "this browser's", seconds };
}

const opened = ({ text }) => ({ clean: undefined, data: read(text, settings.cells) });
