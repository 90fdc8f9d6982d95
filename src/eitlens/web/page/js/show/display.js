// The newest answer on the page: a card for each method, the data, φ, uncertainty, and a line for screen readers.

import { all, byId, html } from "../dom.js";
import { showCards } from "./cards.js";
import { chart } from "./curves.js";
import { clear, diverging, paint, sequential } from "./image.js";

/** A line above the results: what went wrong, or nothing. */
export function tell(text = "") {
  byId("banner").textContent = text;
  byId("banner").hidden = !text;
}

/** Whether a newer answer than the one that is shown is on its way. */
export const markBusy = (busy) => all(".result").forEach((card) => card.classList.toggle("busy", busy));

/** All of an answer. */
export function showAnswer({ latest, phi }, board, choosePhi) {
  const { answer, asked, shapes } = latest;
  showCards(byId("results"), [...answer.images, answer.classical], shapes);
  showCurves(answer);
  byId("solver").textContent = answer.solver
    ? `${answer.solver} solver, ${(1000 * answer.seconds.forward).toFixed(0)} ms`
    : asked.file.name;
  showFields({ latest, phi }, board, choosePhi);
  if (!asked.quick) announce(answer);
}

export function showCurves({ data, clean }) {
  chart(byId("curves"), data, clean);
  const name = (_, l) => html("span", { className: `l${l + 1}` }, `cos ${l ? l + 1 : ""}θ`);
  byId("curve-note").replaceChildren(...data.map(name));
}

/** φ of one current, its data around the body, and the uncertainty. */
export function showFields({ latest: { answer, shapes }, phi }, board, choosePhi) {
  const l = Math.min(phi, answer.phi.length - 1), first = answer.images.find((one) => one.uncertainty);
  paint(byId("phi"), answer.phi[l], diverging, shapes);
  board.ribbon(answer.data[l], l);
  byId("phi-tabs").replaceChildren(...answer.phi.map((_, k) => phiTab(k, k === l, choosePhi)));
  byId("uncertainty-note").textContent = first?.name ?? "no network";
  if (first) paint(byId("uncertainty"), first.uncertainty, sequential, shapes);
  else clear(byId("uncertainty"));
}

function phiTab(k, on, choose) {
  const tab = html("button", { type: "button", ariaPressed: on, ariaLabel: `Current ${k + 1}` }, `${k + 1}`);
  tab.addEventListener("click", () => choose(k));
  return tab;
}

/** The scores in a line, for those who do not see the cards. */
export function announce(answer) {
  const scored = [...answer.images, answer.classical].filter((one) => one.scores);
  const text = scored.map((one) => `${one.name}: Dice ${one.scores.dice.toFixed(2)}`).join(", ");
  byId("status").textContent = text || "The measurement is shown; there is no truth to compare with.";
}

/** The page of a body without shapes. */
export function showNothing(board) {
  byId("status").textContent = "The body is empty: draw something in it.";
  board.ribbon(null);
  ["phi", "uncertainty"].forEach((id) => clear(byId(id)));
  ["results", "peek", "curves", "curve-note", "phi-tabs", "solver"].forEach((id) => byId(id).replaceChildren());
}
