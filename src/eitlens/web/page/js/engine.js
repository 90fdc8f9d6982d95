// Who computes: the server this page came from, or this browser. Both answer with
//   {solver, clean, data: [Float32Array], phi: [field], classical, images: [{name, image, uncertainty, …}], seconds}.

export class Refusal extends Error {
  constructor(reason, retryAfter = 0) {
    super(reason);
    this.retryAfter = retryAfter;
  }
}

export async function start() {
  const settings = await (await fetch("settings.json")).json();
  const { create } = await import(settings.engine === "server" ? "./server.js" : "./local.js");
  return Object.assign(await create(settings), { settings });
}
