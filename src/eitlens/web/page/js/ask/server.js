// The server computes.

import { client, field, post, rows } from "./post.js";

export function create() {
  return async ({ file, ...question }, signal) => {
    if (!file) {
      return decoded(await post("api/drawing", "application/json", JSON.stringify({ client, ...question }), signal));
    }
    const query = new URLSearchParams({ client, models: question.models.join(",") });
    return decoded(await post(`api/measurement?${query}`, "application/octet-stream", file, signal));
  };
}

function decoded(answer) {
  const { clean, data, phi, classical, images } = answer;
  const image = (one) => ({ ...one, image: field(one.image), uncertainty: field(one.uncertainty) });
  const decodedImages = { classical: image(classical), images: images.map(image) };
  return { ...answer, ...decodedImages, clean: rows(clean), data: rows(data), phi: phi.map(field) };
}
