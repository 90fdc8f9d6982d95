// The paper's noise (1 + τ G)(f - f0), G standard normal, the same again for the same seed.

import { centred } from "./forward.js";

function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function addNoise(rows, tau, seed) {
  const next = uniform(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return tau === 0 ? rows : rows.map((row) => centred(row.map((v) => v * (1 + tau * normal()))));
}
