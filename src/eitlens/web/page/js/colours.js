// Colour maps as 256 rows of red, green, blue, interpolated between a few colours of even steps in lightness.

const SEQUENTIAL = ["#000004", "#150e38", "#3b0f70", "#641a80", "#8c2981", "#b73779", "#de4968", "#f7705c", "#fe9f6d", "#fecf92", "#fcfdbf"];
const DIVERGING = ["#1c4f8c", "#3f81b8", "#85b5d6", "#c5dcea", "#f4f3f1", "#f7d3c0", "#ec9f81", "#cb5f4d", "#93202f"];

function table(colours) {
  const stops = colours.map((c) => [1, 3, 5].map((k) => parseInt(c.slice(k, k + 2), 16)));
  return Array.from({ length: 256 }, (_, level) => {
    const at = (level / 255) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
    return stops[k].map((v, c) => Math.round(v + (at - k) * (stops[k + 1][c] - v)));
  });
}

export const sequential = table(SEQUENTIAL);
export const diverging = table(DIVERGING);
