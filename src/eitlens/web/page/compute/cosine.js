// Cosine transforms on the (n+1)² nodes of a square, n a power of two, by fast Fourier transforms of length 2n.

/** In-place complex FFT of a power-of-two length (radix 2, decimation in time). */
function plan(size) {
  const bits = Math.log2(size), order = new Uint32Array(size);
  for (let k = 0; k < size; k++) order[k] = (order[k >> 1] >> 1) | ((k & 1) << (bits - 1));
  const cos = Float64Array.from({ length: size / 2 }, (_, k) => Math.cos((2 * Math.PI * k) / size));
  const sin = Float64Array.from({ length: size / 2 }, (_, k) => -Math.sin((2 * Math.PI * k) / size));
  return (re, im) => {
    for (let k = 0; k < size; k++) {
      const j = order[k];
      if (j > k) [re[k], re[j], im[k], im[j]] = [re[j], re[k], im[j], im[k]];
    }
    for (let half = 1, stride = size / 2; half < size; half *= 2, stride /= 2) {
      for (let start = 0; start < size; start += 2 * half) {
        for (let k = 0; k < half; k++) {
          const a = start + k, b = a + half, c = cos[k * stride], s = sin[k * stride];
          const x = re[b] * c - im[b] * s, y = re[b] * s + im[b] * c;
          re[b] = re[a] - x;
          im[b] = im[a] - y;
          re[a] += x;
          im[a] += y;
        }
      }
    }
  };
}

/** x ↦ C xᵀ C-style transforms: `apply(field)` replaces a nodal field by C field C, C[i, m] = cos(i m π / n). */
export function cosines(n) {
  const size = n + 1, fft = plan(2 * n), other = new Float64Array(size * size);
  const re = new Float64Array(2 * n), im = new Float64Array(2 * n);
  // Two real, even rows at a time: their transforms are real, so one lives in the real part and one in the imaginary.
  const rows = (from, to) => {
    for (let i = 0; i < size; i += 2) {
      const a = i * size, two = i + 1 < size, b = two ? a + size : a;
      re[0] = from[a];
      im[0] = from[b];
      re[n] = from[a + n];
      im[n] = from[b + n];
      for (let k = 1; k < n; k++) {
        re[k] = re[2 * n - k] = from[a + k] / 2;
        im[k] = im[2 * n - k] = from[b + k] / 2;
      }
      fft(re, im);
      for (let k = 0; k < size; k++) {
        to[k * size + i] = re[k];
        if (two) to[k * size + i + 1] = im[k];
      }
    }
  };
  return (field) => {
    rows(field, other);
    rows(other, field);
    return field;
  };
}

/** The inverse of the nine-point Laplacian of a uniform body, C gain C, without the constant mode. */
export function inverseLaplacian(n) {
  const size = n + 1, transform = cosines(n), gain = new Float64Array(size * size);
  const a = Float64Array.from({ length: size }, (_, m) => 2 - 2 * Math.cos((m * Math.PI) / n));
  const norm = (m) => (m === 0 || m === n ? n : n / 2);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      if (i || j) gain[i * size + j] = 1 / ((a[i] + a[j] - (a[i] * a[j]) / 6) * norm(i) * norm(j));
    }
  }
  return (load) => {
    const field = transform(Float64Array.from(load));
    for (let k = 0; k < field.length; k++) field[k] *= gain[k];
    return transform(field);
  };
}
