// Elements of the page, found and made, and numbers in its texts.

/** The element of this id. @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);

/** All elements that a selector finds in the page, or in a part of it. @type {(selector: string, part?: any) => any[]} */
export const all = (selector, part = document) => [...part.querySelectorAll(selector)];

/** A new element with these properties. @returns {any} */
export function html(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A new element of SVG with these attributes. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A number in two digits. */
export const short = (value) => Number(value.toPrecision(2)).toString();

/** A path of SVG through points. In the body y points up, in SVG down. */
export const path = (points, closed = true) =>
  points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(4)} ${(-y).toFixed(4)}`).join("") + (closed ? "Z" : "");
