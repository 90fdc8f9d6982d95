// A card for each method: its image under the truth, Dice, L² and time.

import { sequential } from "./colours.js";
import { describe, paint } from "./field.js";

const html = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

export function render(root, answer, shapes) {
  const shown = [...answer.images, answer.classical];
  const known = new Map([...root.children].map((made) => [made.dataset.name, made]));
  const cards = shown.map((result) => known.get(result.name) ?? card(result.name));
  // In the page before they are painted: a picture is as sharp as its place is large.
  if (cards.length !== root.children.length || cards.some((made, k) => made !== root.children[k])) root.replaceChildren(...cards);
  cards.forEach((made, k) => fill(made, shown[k], shapes));
}

function card(name) {
  const made = html("article", { className: "card result" });
  made.dataset.name = name;
  made.append(
    html("div", { className: "head" }, html("h3", { textContent: title(name) }), html("span", { className: "note" })),
    html("canvas", { className: "square" }),
    html("dl", { className: "scores" }),
    html("ul", { className: "flags", hidden: true }),
  );
  made.querySelector("canvas").setAttribute("role", "img");
  return made;
}

export const title = (name) => (name === "direct sampling" ? "Direct sampling" : name);

function fill(made, result, shapes) {
  const canvas = made.querySelector("canvas"), flags = made.querySelector(".flags");
  made.classList.remove("busy");
  const notes = result.reason ? [result.reason] : (result.warnings ?? []);
  canvas.hidden = Boolean(result.reason);
  flags.replaceChildren(...notes.map((text) => html("li", { textContent: text })));
  flags.hidden = notes.length === 0;
  if (result.reason) {
    made.querySelector(".scores").replaceChildren();
    return;
  }
  paint(canvas, result.image, sequential, shapes);
  canvas.setAttribute("aria-label", describe(title(result.name), result.image));
  made.querySelector(".note").textContent = note(result);
  made.querySelector(".scores").replaceChildren(...scores(result));
}

const note = (result) =>
  result.noise === undefined ? "classical" : result.noise === null ? "network" : `sees noise of ${(100 * result.noise).toFixed(0)} %`;

function scores({ scores, seconds }) {
  const item = (label, value, unit = "") => html("div", {}, html("dt", { textContent: label }), html("dd", {}, value, html("small", { textContent: unit })));
  const known = scores ? [item("Dice", scores.dice.toFixed(3)), item("L² error", scores.l2.toFixed(3))] : [item("Dice", "–"), item("L² error", "–")];
  return [...known, item("time", (1000 * seconds).toFixed(0), " ms")];
}
