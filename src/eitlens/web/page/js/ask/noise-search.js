// Raise the noise step by step until the image is lost: Dice below four fifths of what it was without noise. It ends
// where the noise is more than the network has seen in its training: beyond that nobody promised anything.

import { byId, short } from "../dom.js";

const LOST = 0.8, FIRST = 0.02, GROWTH = 1.3, LAST = 0.5; // the last where nobody knows what a network has seen

export class NoiseSearch {
  #running = null;

  /** Stop what is under way; whether there was something to stop. */
  stop() {
    this.#running?.abort();
    return this.#running !== null;
  }

  /**
   * Search, and say what was found; whether it was stopped. `ask(tau, signal)` promises the answer with this noise.
   * @param ask the question
   * @param {any} network `noisiest`: the largest noise of its training
   */
  async start(ask, network = null) {
    const { signal } = (this.#running = new AbortController());
    byId("break").textContent = "Stop";
    const found = await search(ask, signal, network?.noisiest ?? LAST).then(verdict(network), (error) => error.message);
    byId("verdict").textContent = signal.aborted ? "Stopped." : found;
    byId("break").textContent = "Add noise until it breaks";
    this.#running = null;
    return signal.aborted;
  }
}

async function search(ask, signal, last) {
  const score = (answer) => (answer.images.find((one) => one.scores) ?? answer.classical).scores.dice;
  const clean = score(await ask(0, signal));
  let held = 0, dice = clean;
  for (const tau of clean ? levels(last) : []) {
    if (signal.aborted) break;
    dice = score(await ask(tau, signal));
    byId("verdict").textContent = `τ = ${short(100 * tau)} %: Dice ${dice.toFixed(2)}`;
    if (dice < LOST * clean) return { clean, held, broken: tau, dice };
    held = tau;
  }
  return { clean, held, broken: null, dice };
}

/** From the first level to the last in equal factors. */
function levels(last) {
  const count = Math.ceil(Math.log(last / FIRST) / Math.log(GROWTH));
  return Array.from({ length: count + 1 }, (_, k) => Number((FIRST * (last / FIRST) ** (k / count)).toPrecision(2)));
}

const verdict = (network) => ({ clean, held, broken, dice }) => {
  if (!clean) return "Without noise nothing of it is seen either.";
  const from = `Dice ${dice.toFixed(2)}, without noise ${clean.toFixed(2)}`;
  if (broken) return `It breaks at τ = ${short(100 * broken)} %: ${from}.`;
  const why = network?.noisiest ? `the most that ${network.name} was trained for` : "the most that is tried";
  return `It does not break up to τ = ${short(100 * held)} %, ${why}: ${from}.`;
};
