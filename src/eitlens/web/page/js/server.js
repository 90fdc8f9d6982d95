// The server computes. Each page has a name of its own, so that a newer question takes the place of its older one.

import { Refusal } from "./engine.js";

export async function create() {
  const client = `page-${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;
  return {
    image: (question, signal) => post("api/drawing", "application/json", JSON.stringify({ client, ...question }), signal),
    upload: (file, models, signal) => {
      const query = new URLSearchParams({ client, models: models.join(",") });
      return post(`api/measurement?${query}`, "application/octet-stream", file, signal);
    },
  };
}

async function post(path, type, body, signal) {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": type }, body, signal }).catch((error) => {
    throw error.name === "AbortError" ? error : new Refusal("The server cannot be reached.", 3);
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(answer.reason ?? `The server answered ${response.status}.`, Number(response.headers.get("Retry-After")) || 0);
  return decoded(answer);
}

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const field = (sent) => sent && { nodes: sent.nodes, low: sent.low, high: sent.high, levels: bytes(sent.bytes) };

function rows(sent) {
  if (!sent) return null;
  const all = new Float32Array(bytes(sent.floats).buffer), size = all.length / sent.rows;
  return Array.from({ length: sent.rows }, (_, k) => all.slice(k * size, (k + 1) * size));
}

function decoded(answer) {
  const image = (one) => ({ ...one, image: field(one.image), uncertainty: field(one.uncertainty) });
  return { ...answer, clean: rows(answer.clean), data: rows(answer.data), phi: answer.phi.map(field), classical: image(answer.classical), images: answer.images.map(image) };
}
