// The conductivity of a drawing: at points, at nodes, and as a tensor in each cell of a grid.

const SUB = 8; // points a side in a cell that an outline crosses

/** A function (x, y) ↦ σ; where shapes overlap the later counts. */
export function conductivity(shapes) {
  const tests = shapes.map((shape) => [shape.kind === "ellipse" ? inEllipse(shape) : inPolygon(shape.vertices), shape.conductivity]).reverse();
  return (x, y) => tests.find(([inside]) => inside(x, y))?.[1] ?? 1;
}

/** Whether each of the (n+1)² nodes lies in a shape of other conductivity than the body. */
export function indicator(shapes, n) {
  const sigma = conductivity(shapes), size = n + 1;
  return Uint8Array.from({ length: size * size }, (_, k) => sigma(-1 + (2 * Math.floor(k / size)) / n, -1 + (2 * (k % size)) / n) !== 1);
}

function inEllipse({ center: [cx, cy], semi_axes: [a, b], angle }) {
  const c = Math.cos(angle), s = Math.sin(angle);
  return (x, y) => ((c * (x - cx) + s * (y - cy)) / a) ** 2 + ((c * (y - cy) - s * (x - cx)) / b) ** 2 < 1;
}

function inPolygon(vertices) {
  const low = [0, 1].map((k) => Math.min(...vertices.map((v) => v[k]))), high = [0, 1].map((k) => Math.max(...vertices.map((v) => v[k])));
  return (x, y) => {
    if (x < low[0] || x > high[0] || y < low[1] || y > high[1]) return false;
    let inside = false;
    for (let k = 0, j = vertices.length - 1; k < vertices.length; j = k++) {
      const [x1, y1] = vertices[k], [x2, y2] = vertices[j];
      if (y1 > y !== y2 > y && x < x1 + ((y - y1) / (y2 - y1)) * (x2 - x1)) inside = !inside;
    }
    return inside;
  };
}

/**
 * σ - 1 as a symmetric tensor (xx, xy, yy) in each of n² cells. In a cell crossed by an outline, current along it
 * meets the arithmetic mean and current across it the harmonic mean; the direction across is that in which σ grows.
 */
export function tensors(shapes, n) {
  const sigma = conductivity(shapes), h = 2 / n, xx = new Float64Array(n * n), xy = new Float64Array(n * n), yy = new Float64Array(n * n);
  const corner = Float64Array.from({ length: (n + 1) ** 2 }, (_, k) => sigma(-1 + h * Math.floor(k / (n + 1)), -1 + h * (k % (n + 1))));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const at = i * (n + 1) + j, s = corner[at], cell = i * n + j;
      const x = -1 + i * h, y = -1 + j * h;
      const pure = corner[at + 1] === s && corner[at + n + 1] === s && corner[at + n + 2] === s && sigma(x + h / 2, y + h / 2) === s;
      [xx[cell], xy[cell], yy[cell]] = pure ? [s - 1, 0, s - 1] : mixed(sigma, x, y, h);
    }
  }
  return { xx, xy, yy };
}

function mixed(sigma, x, y, h) {
  let mean = 0, resist = 0, px = 0, py = 0;
  for (let p = 0; p < SUB; p++) {
    for (let q = 0; q < SUB; q++) {
      const u = (p + 0.5) / SUB, v = (q + 0.5) / SUB, s = sigma(x + h * u, y + h * v);
      mean += s;
      resist += 1 / s;
      px += s * (u - 0.5);
      py += s * (v - 0.5);
    }
  }
  const along = mean / SUB ** 2, across = SUB ** 2 / resist, length = Math.hypot(px, py);
  if (length < 1e-9 * mean) return [(along + across) / 2 - 1, 0, (along + across) / 2 - 1];
  const [c, s] = [px / length, py / length], jump = across - along;
  return [along + jump * c * c - 1, jump * c * s, along + jump * s * s - 1];
}
