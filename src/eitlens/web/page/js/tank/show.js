// An answer about a tank on the page: cards, voltages, σ, doubts, and what the inspection says.

import { all, byId, html } from "../dom.js";
import { area } from "../draw/polygons.js";
import { showCards } from "../show/cards.js";
import { clear, diverging, paint, sequential } from "../show/image.js";
import { chartReadings, driven, table } from "./voltages.js";

const FACTS = { noise: "noise of a frame", drift: "drift against the reference", residual: "left by an empty tank" };

/** All of an answer, at the frame that is looked at. */
export function showTank(state, board, titles) {
  const { answer, shapes } = state.latest, at = { ...state, frame: Math.min(state.frame, answer.frames.shown - 1) };
  const views = answer.images.map((image) => view(image, answer, at.frame, titles));
  showCards(byId("results"), views, shapes);
  showPanels(at, board);
  showFields(answer, at.frame, shapes, titles);
  showFindings(answer);
  const scored = views.filter((one) => one.scores);
  const text = scored.map((one) => `${one.title}: Dice ${one.scores.dice.toFixed(2)}`).join(", ");
  byId("status").textContent = text || (answer.images.length ? "" : "The tank is empty: draw something in it.");
  const { forward } = answer.seconds ?? {};
  byId("solver").textContent = forward === undefined
    ? state.file?.name ?? ""
    : `simulated in ${(1000 * forward).toFixed(0)} ms`;
}

/** One frame of an image, as cards show it. */
function view(image, answer, frame, titles) {
  const { name, reason, quantity } = image, title = titles[name] ?? name, field = image.frames?.[frame];
  if (reason) return { name, title, reason };
  if (image.waiting) return { name, title, waiting: true };
  if (!field) return { name, title, reason: image.refused ?? "One frame at a time: stay on a frame to see it." };
  const most = Math.max(...image.frames.flatMap((one) => one.high));
  const shown = { image: field, most, body: answer.body.outline, scores: image.scores, truth: Boolean(image.scores) };
  const warnings = image.warnings[frame], spoken = said(title, field, answer.body.outline);
  return { name, title, ...shown, warnings, spoken, note: noted(quantity, most), seconds: image.seconds };
}

function noted(quantity, most) {
  if (quantity === "sign") return "three classes";
  if (quantity === "conductivity") return `0 to ${most.toPrecision(2)} S/m`;
  return quantity === "index" ? "0 to 1" : `± ${most.toPrecision(2)} S/m`;
}

/** How much of the body an image takes to be another thing, for those who do not see it. */
function said(title, { levels, low, nodes }, outline) {
  const cells = ((nodes - 1) ** 2 * Math.abs(area(outline))) / 4;
  const share = (test) => `${((100 * levels.reduce((sum, v) => sum + (test(v) ? 1 : 0), 0)) / cells).toFixed(1)} %`;
  if (low >= 0) return `${title}: ${share((v) => v > 127)} of the body above half`;
  return `${title}: ${share((v) => v > 191)} of the body conducts better, ${share((v) => v < 64)} worse`;
}

/** The voltages of one stimulation, the changes of all, and the electrodes that drive. */
export function showPanels({ latest, frame, stimulation, readingKind }, board) {
  const { answer } = latest, { pattern, readings, body, electrodes } = answer;
  byId("voltages-card").hidden = byId("changes-card").hidden = !readings;
  if (!readings) return board.tank(body.outline);
  const chosen = Math.min(stimulation, pattern.drives.length - 1), words = driven(pattern, chosen);
  byId("stimulation").max = pattern.drives.length - 1;
  byId("stimulation").value = chosen;
  byId("stimulation").setAttribute("aria-valuetext", words);
  byId("stimulation-value").textContent = words;
  const note = chartReadings(byId("voltages"), answer, frame, chosen, readingKind);
  byId("voltages").setAttribute("aria-label", `Readings with the ${words}; ${note}`);
  table(byId("changes"), answer, frame, chosen);
  for (const tab of all("[data-readings]")) {
    tab.setAttribute("aria-pressed", String(tab.dataset.readings === readingKind));
  }
  return board.tank(body.outline, electrodes, pattern.drives[chosen] ?? []);
}

/** σ of the network, and where the first method that says so is unsure. */
function showFields(answer, frame, shapes, titles) {
  const learned = answer.images.find((one) => one.sigma?.[frame]),
    sure = answer.images.find((one) => one.uncertainty?.[frame]);
  const { outline } = answer.body;
  byId("sigma-card").hidden = !learned;
  if (learned) {
    const field = learned.sigma[frame], most = Math.max(...learned.sigma.flatMap((one) => one.high));
    paint(byId("sigma-image"), field, diverging, shapes, outline, most);
    byId("sigma-scale").textContent = `blue 1/${Math.exp(most).toPrecision(2)}, white 1, red ${
      Math.exp(most).toPrecision(2)
    } times the water`;
  }
  byId("doubt-note").textContent = sure ? titles[sure.name] : "no method that tells";
  if (sure) paint(byId("doubt"), sure.uncertainty[frame], sequential, shapes, outline);
  else clear(byId("doubt"));
}

/** What is wrong with the data of a file. */
function showFindings({ findings, remarks, facts }) {
  byId("findings").hidden = !findings;
  if (!findings) return;
  const line = (text, small) => html("li", {}, text, ...(small ? [html("small", {}, small)] : []));
  const wrong = findings.map(({ text, remedy }) => line(sentence(text), remedy && `Remedy: ${remedy}.`));
  byId("findings-list").replaceChildren(...(wrong.length ? wrong : [line("Nothing is wrong with the readings.")]));
  byId("findings-list").classList.toggle("sound", !wrong.length);
  const numbers = Object.entries(FACTS).filter(([name]) => name in facts);
  const told = numbers.map(([name, words]) => `${words} ${(100 * facts[name]).toFixed(2).replace("-", "−")} %`);
  byId("findings-facts").textContent = [...told, ...remarks].map(sentence).join(" ");
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** A tank that nothing is known of yet. */
export function showEmptyTank(board, outline, file) {
  board.tank(outline);
  byId("status").textContent = file ? `Reading ${file.name} …` : "";
  for (const id of ["results", "peek", "solver", "voltages"]) byId(id).replaceChildren();
  for (const id of ["changes", "doubt", "sigma-image"]) clear(byId(id));
  byId("findings").hidden = true;
}
