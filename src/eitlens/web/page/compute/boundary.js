// Functions on the boundary of the square, at 4n nodes counter-clockwise from (-1, -1).

/** Index of each node on a grid of (n+1)² nodes, in rows of x. */
export function loop(n) {
  const at = (i, j) => i * (n + 1) + j, nodes = [];
  for (let k = 0; k < n; k++) nodes.push(at(k, 0));
  for (let k = 0; k < n; k++) nodes.push(at(n, k));
  for (let k = n; k > 0; k--) nodes.push(at(k, n));
  for (let k = n; k > 0; k--) nodes.push(at(0, k));
  return nodes;
}

export const points = (n) => loop(n).map((k) => [-1 + (2 * Math.floor(k / (n + 1))) / n, -1 + (2 * (k % (n + 1))) / n]);

export function centred(values) {
  const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
  return values.map((v) => v - mean);
}

/** cos lθ, of zero mean. */
export const cosineCurrent = (l, n) =>
  centred(Float64Array.from(points(n), ([x, y]) => Math.cos(l * Math.atan2(y, x))));

/** Boundary values on another loop, by cubics through four neighbours on the same side: data kink at corners only. */
export function resampled(values, cells) {
  const n = values.length / 4;
  const out = Float64Array.from({ length: 4 * cells }, (_, k) => {
    const side = Math.floor(k / cells), t = ((k % cells) * n) / cells;
    const first = Math.min(Math.max(Math.floor(t) - 1, 0), n - 3), u = t - first;
    const [p, q, r, s] = [0, 1, 2, 3].map((m) => values[(side * n + first + m) % values.length]);
    const outer = (s * u - p * (u - 3)) * (u - 1) * (u - 2), inner = (q * (u - 2) - r * (u - 1)) * u * (u - 3);
    return outer / 6 + inner / 2;
  });
  return centred(out);
}

function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The paper's noise (1 + τ G)(f - f0), G standard normal, the same again for the same seed. */
export function addNoise(rows, tau, seed) {
  const next = uniform(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return tau === 0 ? rows : rows.map((row) => centred(row.map((v) => v * (1 + tau * normal()))));
}
