// Elements of SVG, and paths through points. In the body y points up, in SVG down.

export function element(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const number = (v) => v.toFixed(4);

export const path = (points, closed = true) =>
  points.map(([x, y], k) => `${k ? "L" : "M"}${number(x)} ${number(-y)}`).join("") + (closed ? "Z" : "");
