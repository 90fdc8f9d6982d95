// This browser computes, in a worker of its own, so that the page never waits. A newer question replaces the older.

import { Refusal } from "./engine.js";

export async function create(settings) {
  const worker = new Worker(new URL("../../compute/worker.js", import.meta.url), { type: "module" });
  const waiting = new Map();
  let last = 0;
  worker.addEventListener("message", ({ data: { id, answer, reason } }) => {
    const promise = waiting.get(id);
    waiting.delete(id);
    if (!promise) return;
    if (answer) promise.resolve(answer);
    else promise.reject(reason ? new Refusal(reason) : new DOMException("superseded", "AbortError"));
  });
  const send = (message) => {
    const id = ++last;
    worker.postMessage({ id, ...message });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
  await send({ settings });
  return async ({ file, ...question }, signal) => {
    const text = await file?.text();
    return abortable(send({ question: { ...question, text } }), signal);
  };
}

function abortable(promise, signal) {
  const aborted = new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
  });
  return Promise.race([promise, aborted]);
}
