// Dice of {p > ½}, and the relative L² error of σ = 1 + 9 p, as the server has them.

export function scores(image, truth) {
  let both = 0, guessed = 0, real = 0, error = 0, size = 0;
  for (let k = 0; k < image.length; k++) {
    const inside = Number(image[k] > 0.5), t = truth[k];
    both += inside * t;
    guessed += inside;
    real += t;
    error += (9 * (image[k] - t)) ** 2;
    size += (1 + 9 * t) ** 2;
  }
  return { dice: guessed + real ? (2 * both) / (guessed + real) : 1, l2: Math.sqrt(error / size) };
}

/** A field as one byte a node between two values, its own range by default. */
export function levels(values, low = Math.min(...range(values)), high = Math.max(...range(values))) {
  const width = high - low || 1;
  const level = (v) => Math.min(255, Math.max(0, Math.round((255 * (v - low)) / width)));
  return { nodes: Math.round(Math.sqrt(values.length)), low, high, levels: Uint8Array.from(values, level) };
}

function range(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) [low, high] = [Math.min(low, v), Math.max(high, v)];
  return [low, high];
}
