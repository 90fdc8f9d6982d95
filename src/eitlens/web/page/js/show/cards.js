// A card for each method: its image under the truth, its scores and its time.

import { all, byId, html } from "../dom.js";
import { describe, diverging, paint, sequential } from "./image.js";

export function showCards(root, shown, shapes) {
  const known = new Map([...root.children].map((made) => [made.dataset.name, made]));
  const cards = shown.map((result) => known.get(result.name) ?? card(result));
  const same = cards.length === root.children.length && cards.every((made, k) => made === root.children[k]);
  if (!same) root.replaceChildren(...cards); // before they are painted: a picture is as sharp as its place is large
  cards.forEach((made, k) => fill(made, shown[k], shapes));
  peek(cards);
}

/** Small copies of the images, for a screen that has no room for them beside the drawing. */
function peek(cards) {
  const shown = cards.filter((made) => !made.querySelector("canvas").hidden);
  byId("peek").replaceChildren(...shown.map((made) => {
    const small = html("canvas", { width: 160, height: 160 }), dice = made.querySelector("dd")?.textContent ?? "";
    small.getContext("2d").drawImage(made.querySelector("canvas"), 0, 0, 160, 160);
    return html(
      "span",
      {},
      small,
      html("b", {}, made.querySelector("h3").textContent),
      html("i", {}, dice && `Dice ${dice}`),
    );
  }));
}

function card({ name, title = titled(name) }) {
  const made = html("article", { className: "card result" });
  made.dataset.name = name;
  made.append(
    html("div", { className: "head" }, html("h3", { textContent: title }), html("span", { className: "note" })),
    html("canvas", { className: "square" }),
    html("dl", { className: "scores" }),
    html("ul", { className: "flags", hidden: true }),
  );
  made.querySelector("canvas").setAttribute("role", "img");
  return made;
}

const titled = (name) => (name === "direct sampling" ? "Direct sampling" : name);

/** What the cards show, for a picture of all of them. */
export const shownCards = () =>
  all(".result").filter((one) => !one.querySelector("canvas").hidden).map((one) => ({
    title: one.querySelector("h3").textContent,
    canvas: one.querySelector("canvas"),
    text: all(".scores div", one).map(spoken).join("   "),
  }));

const spoken = ({ children: [label, value] }) => `${label.textContent} ${value.textContent}`;

function fill(made, result, shapes) {
  const canvas = made.querySelector("canvas"), flags = made.querySelector(".flags");
  made.classList.toggle("busy", Boolean(result.waiting));
  if (result.waiting) return; // what it shows is the best there is
  const notes = result.reason ? [result.reason] : (result.warnings ?? []);
  canvas.hidden = Boolean(result.reason);
  flags.replaceChildren(...notes.map((text) => html("li", { textContent: text })));
  flags.hidden = notes.length === 0;
  made.querySelector(".note").textContent = result.reason ? "" : (result.note ?? note(result));
  if (result.reason) {
    made.querySelector(".scores").replaceChildren();
    return;
  }
  paint(canvas, result.image, result.image.low < 0 ? diverging : sequential, shapes, result.body, result.most);
  canvas.setAttribute("aria-label", result.spoken ?? describe(made.querySelector("h3").textContent, result.image));
  made.querySelector(".scores").replaceChildren(...scores(result));
}

function note({ noise }) {
  if (noise === undefined) return "classical";
  return noise === null ? "network" : `sees noise of ${(100 * noise).toFixed(0)} %`;
}

function scores({ scores, seconds, truth = true }) {
  const item = (label, value, unit = "") =>
    html("div", {}, html("dt", {}, label), html("dd", {}, value, html("small", {}, unit)));
  const digits = (value) => value?.toFixed(3) ?? "–";
  const time = item("time", (1000 * seconds).toFixed(0), " ms");
  if (!truth) return [time];
  const other = scores && "position" in scores ? ["off by", scores.position] : ["L² error", scores?.l2];
  return [item("Dice", digits(scores?.dice)), item(other[0], digits(other[1])), time];
}
