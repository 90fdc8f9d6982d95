// A card for each method: its image under the truth, Dice, L² and time.

import { all, html } from "../dom.js";
import { describe, paint, sequential } from "./image.js";

export function showCards(root, answer, shapes) {
  const shown = [...answer.images, answer.classical];
  const known = new Map([...root.children].map((made) => [made.dataset.name, made]));
  const cards = shown.map((result) => known.get(result.name) ?? card(result.name));
  const same = cards.length === root.children.length && cards.every((made, k) => made === root.children[k]);
  if (!same) root.replaceChildren(...cards); // before they are painted: a picture is as sharp as its place is large
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

const title = (name) => (name === "direct sampling" ? "Direct sampling" : name);

/** What the cards show, for a picture of all of them. */
export const shownCards = () =>
  all(".result").filter((one) => !one.querySelector("canvas").hidden).map((one) => ({
    title: title(one.dataset.name),
    canvas: one.querySelector("canvas"),
    text: all(".scores div", one).map(spoken).join("   "),
  }));

const spoken = ({ children: [label, value] }) => `${label.textContent} ${value.textContent}`;

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

function note({ noise }) {
  if (noise === undefined) return "classical";
  return noise === null ? "network" : `sees noise of ${(100 * noise).toFixed(0)} %`;
}

function scores({ scores, seconds }) {
  const item = (label, value, unit = "") =>
    html("div", {}, html("dt", {}, label), html("dd", {}, value, html("small", {}, unit)));
  const digits = (value) => value?.toFixed(3) ?? "–";
  const time = item("time", (1000 * seconds).toFixed(0), " ms");
  return [item("Dice", digits(scores?.dice)), item("L² error", digits(scores?.l2)), time];
}
