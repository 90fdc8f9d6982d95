// Questions to the server, and its answers with arrays in the place of base64.

import { Refusal } from "./engine.js";

/** A name of this page, so that a newer question takes the place of its older one. */
export const client = `page-${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;

export async function post(path, type, body, signal) {
  const request = { method: "POST", headers: { "Content-Type": type }, body, signal };
  const response = await fetch(path, request).catch((error) => {
    throw error.name === "AbortError" ? error : new Refusal("The server cannot be reached.", 3);
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const reason = answer.reason ?? `The server answered ${response.status}.`;
  throw new Refusal(reason, Number(response.headers.get("Retry-After")) || 0);
}

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

export const field = (sent) => sent && { ...sent, levels: bytes(sent.bytes) };

export function rows(sent) {
  if (!sent) return null;
  const all = new Float32Array(bytes(sent.floats).buffer), size = all.length / sent.rows;
  return Array.from({ length: sent.rows }, (_, k) => all.slice(k * size, (k + 1) * size));
}
