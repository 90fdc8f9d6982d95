// Raise the noise step by step until the image is lost: Dice below four fifths of what it was without noise.

import { byId, short } from "../dom.js";

const LOST = 0.8, FIRST = 0.02, GROWTH = 1.3, LAST = 2;

export class NoiseSearch {
  #running = null;

  /** Stop what is under way; whether there was something to stop. */
  stop() {
    this.#running?.abort();
    return this.#running !== null;
  }

  /** Search, and say what was found. `ask(tau, signal)` promises the answer with this noise. */
  async start(ask) {
    const { signal } = (this.#running = new AbortController());
    byId("break").textContent = "Stop";
    byId("verdict").textContent = await search(ask, signal).then(verdict, (error) => error.message);
    if (signal.aborted) byId("verdict").textContent = "Stopped.";
    byId("break").textContent = "Add noise until it breaks";
    this.#running = null;
  }
}

async function search(ask, signal) {
  const score = (answer) => (answer.images.find((one) => one.scores) ?? answer.classical).scores.dice;
  const clean = score(await ask(0, signal));
  let held = 0;
  for (let tau = FIRST; tau <= LAST && clean && !signal.aborted; tau *= GROWTH) {
    const rounded = Number(tau.toPrecision(2)), dice = score(await ask(rounded, signal));
    byId("verdict").textContent = `τ = ${short(100 * rounded)} %: Dice ${dice.toFixed(2)}`;
    if (dice < LOST * clean) return { clean, held, broken: rounded, dice };
    held = rounded;
  }
  return { clean, held, broken: null, dice: null };
}

function verdict({ clean, held, broken, dice }) {
  if (!clean) return "Without noise nothing of it is seen either.";
  if (!broken) return `It holds up to τ = ${short(100 * held)} %.`;
  return `It breaks at τ = ${short(100 * broken)} %: Dice ${dice.toFixed(2)}, without noise ${clean.toFixed(2)}.`;
}
