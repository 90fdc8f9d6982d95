// The server computes. Each page has a name of its own, so that a newer question takes the place of its older one.

import { Refusal } from "./engine.js";

export function create() {
  const client = `page-${crypto.getRandomValues(new Uint32Array(3)).join("-")}`;
  return ({ file, ...question }, signal) => {
    if (!file) return post("api/drawing", "application/json", JSON.stringify({ client, ...question }), signal);
    const query = new URLSearchParams({ client, models: question.models.join(",") });
    return post(`api/measurement?${query}`, "application/octet-stream", file, signal);
  };
}

async function post(path, type, body, signal) {
  const request = { method: "POST", headers: { "Content-Type": type }, body, signal };
  const response = await fetch(path, request).catch((error) => {
    throw error.name === "AbortError" ? error : new Refusal("The server cannot be reached.", 3);
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return decoded(answer);
  const reason = answer.reason ?? `The server answered ${response.status}.`;
  throw new Refusal(reason, Number(response.headers.get("Retry-After")) || 0);
}

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const field = (sent) => sent && { ...sent, levels: bytes(sent.bytes) };

function rows(sent) {
  if (!sent) return null;
  const all = new Float32Array(bytes(sent.floats).buffer), size = all.length / sent.rows;
  return Array.from({ length: sent.rows }, (_, k) => all.slice(k * size, (k + 1) * size));
}

function decoded(answer) {
  const { clean, data, phi, classical, images } = answer;
  const image = (one) => ({ ...one, image: field(one.image), uncertainty: field(one.uncertainty) });
  const decodedImages = { classical: image(classical), images: images.map(image) };
  return { ...answer, ...decodedImages, clean: rows(clean), data: rows(data), phi: phi.map(field) };
}
