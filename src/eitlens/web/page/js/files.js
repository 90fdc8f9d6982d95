// What the page hands over as files: the measurement as `eitlens reconstruct` reads it, and all images as a picture.

import { written } from "../compute/measurement.js";
import { html, short } from "./dom.js";
import { shownCards } from "./show/cards.js";

const SIZE = 480, GAP = 24, HEAD = 44, FOOT = 92; // of an image in the picture, and around it

export function saveMeasurement({ answer }) {
  download("measurement.json", new Blob([JSON.stringify(written(answer.data))], { type: "application/json" }));
}

export function savePicture({ asked }, version) {
  const noise = short(100 * (asked.tau ?? 0));
  const tank = asked.drawing?.tank;
  const caption = asked.file?.name ??
    (tank ? inTank(asked.drawing, version) : `${asked.currents} currents, noise ${noise} %, eitlens ${version}`);
  picture(shownCards(), caption).toBlob((blob) => download("eitlens.png", blob), "image/png");
}

export function download(name, blob) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function inTank({ tank: { body, electrodes, pattern }, snr }, version) {
  return `${body}, ${electrodes} electrodes, ${pattern}, noise ${short(100 * 10 ** (-snr / 20))} %, eitlens ${version}`;
}

/** All results side by side with their scores. */
function picture(cards, caption) {
  const canvas = html("canvas", { width: cards.length * (SIZE + GAP) + GAP, height: HEAD + SIZE + FOOT });
  const context = canvas.getContext("2d");
  const write = (text, x, y, style, colour = "#191b22") => {
    context.fillStyle = colour;
    context.font = `${style} system-ui, sans-serif`;
    context.fillText(text, x, y);
  };
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  cards.forEach((card, k) => {
    const x = GAP + k * (SIZE + GAP);
    write(card.title, x, 30, "600 22px");
    context.drawImage(card.canvas, x, HEAD, SIZE, SIZE);
    write(card.text, x, HEAD + SIZE + 34, "20px");
  });
  write(caption, GAP, canvas.height - 18, "17px", "#5c6270");
  return canvas;
}
