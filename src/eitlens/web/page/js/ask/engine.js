// Who computes: the server this page came from, or this browser. Both answer `ask(question, signal)` with
//   {solver, clean, data: [Float32Array], phi: [field], classical, images: [{name, image, uncertainty, …}], seconds}.

import { withoutId } from "../draw/shapes.js";

export class Refusal extends Error {
  constructor(reason, retryAfter = 0) {
    super(reason);
    this.retryAfter = retryAfter;
  }
}

export async function start() {
  const settings = await (await fetch("settings.json")).json();
  const { create } = await import(settings.engine === "server" ? "./server.js" : "./browser.js");
  return { settings, ask: await create(settings) };
}

/** What is asked of it about the square: to image a file, or the drawing as it would be measured. `quick`: more is on its way. */
export function question({ file, shapes, currents, tau, seed, models }, quick = false) {
  return file ? { file, models } : { shapes: shapes.map(withoutId), currents, tau, seed, models, quick };
}
