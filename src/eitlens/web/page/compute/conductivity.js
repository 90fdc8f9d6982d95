// The conductivity of a drawing: at points, at nodes, and as a tensor in each cell of a grid.

const SUB = 8; // points a side in a cell that an outline crosses

/** A function (x, y) ↦ σ; where shapes overlap the later counts. */
export function conductivity(shapes) {
  const inside = (shape) => (shape.kind === "ellipse" ? inEllipse(shape) : inPolygon(shape));
  const tests = shapes.map((shape) => ({ inside: inside(shape), sigma: shape.conductivity })).reverse();
  return (x, y) => tests.find((test) => test.inside(x, y))?.sigma ?? 1;
}

/** Whether each of the (n+1)² nodes lies in a shape of other conductivity than the body. */
export function indicator(shapes, n) {
  return Uint8Array.from(atNodes(shapes, n), (sigma) => Number(sigma !== 1));
}

/** σ at the (n+1)² nodes, in rows of x. */
function atNodes(shapes, n) {
  const sigma = conductivity(shapes), size = n + 1, at = (k) => -1 + (2 * k) / n;
  return Float64Array.from({ length: size * size }, (_, k) => sigma(at(Math.floor(k / size)), at(k % size)));
}

function inEllipse({ center: [cx, cy], semi_axes: [a, b], angle }) {
  const c = Math.cos(angle), s = Math.sin(angle);
  return (x, y) => ((c * (x - cx) + s * (y - cy)) / a) ** 2 + ((c * (y - cy) - s * (x - cx)) / b) ** 2 < 1;
}

function inPolygon({ vertices }) {
  const xs = vertices.map(([x]) => x), ys = vertices.map(([, y]) => y);
  const left = Math.min(...xs), right = Math.max(...xs), bottom = Math.min(...ys), top = Math.max(...ys);
  return (x, y) => {
    if (x < left || x > right || y < bottom || y > top) return false;
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
  const sigma = conductivity(shapes), corner = atNodes(shapes, n), h = 2 / n;
  const [xx, xy, yy] = [0, 1, 2].map(() => new Float64Array(n * n));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const at = i * (n + 1) + j, s = corner[at], cell = i * n + j;
      const x = -1 + i * h, y = -1 + j * h;
      const pure = [at + 1, at + n + 1, at + n + 2].every((k) => corner[k] === s) && sigma(x + h / 2, y + h / 2) === s;
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
