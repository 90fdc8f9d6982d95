// Questions about tanks: a drawing, or files frame by frame. Quick methods are asked for together, slow ones after them
// one by one, and what is there is shown in the meantime.

import { client, field, post, rows } from "../ask/post.js";
import { withoutId } from "../draw/shapes.js";

const CHUNK = 6, MOST = 600, CORNER = 0.03; // frames of a request, and of a sequence; the radius of a polygon's corners

/** A polygon has round corners: its data take milliseconds then. */
const sent = (shape) => (shape.kind === "polygon" ? { ...shape, kind: "rounded-polygon", radius: CORNER } : shape);

/**
 * What is asked about a tank: `methods` at once, and those of `slow` one by one after them. While more is on its way
 * (`quick`) only what takes no time is asked for: a linear image of a tank that is known, and the network.
 */
export function tankQuestion({ file, shapes, tank, snr, seed, methods, latest }, slow, quick = false) {
  const fast = methods.filter((name) => !slow.has(name));
  if (file) return { mode: "tank", file, quick, methods: fast, slow: methods.filter((name) => slow.has(name)) };
  const known = latest?.asked.drawing, same = known?.tank === tank && known.snr === snr && known.seed === seed;
  const now = quick ? fast.filter((name) => same || name === "network") : methods.slice(0, 1);
  const drawing = { tank, snr, seed, shapes: shapes.map(withoutId).map(sent) };
  return { mode: "tank", quick, drawing, methods: now, slow: methods.filter((name) => !now.includes(name)) };
}

/** The answer; `partly` is told of the part of it that is there already. */
export function askTank(question, signal, partly) {
  return question.file ? askFiles(question, signal, partly) : askDrawing(question, signal, partly);
}

/** The measurement of a drawing as a file. */
export const measured = (drawing, signal) => draw({ ...drawing, methods: [], save: true }, signal);

const draw = (asked, signal) => post("api/tank", "application/json", JSON.stringify({ client, ...asked }), signal);

async function askDrawing({ drawing, methods, slow, quick }, signal, partly) {
  const order = [...methods, ...slow];
  let answer = decoded(await draw({ ...drawing, methods }, signal));
  if (!drawing.shapes.length || !slow.length) return answer;
  answer = { ...answer, images: [...answer.images, ...slow.map((name) => ({ name, waiting: true }))] };
  if (quick) return sorted(answer, order);
  const one = (name) => draw({ ...drawing, methods: [name] }, signal);
  return oneByOne(answer, slow, order, one, signal, partly);
}

/** Ask for each slow method, and put its image in the place that waits for it. */
async function oneByOne(start, slow, order, one, signal, partly) {
  let answer = start;
  for (const name of slow) {
    partly(sorted(answer, order));
    const [image] = await patient(() => one(name), signal).then(
      (found) => decoded(found).images,
      (error) => {
        if (error.name === "AbortError") throw error;
        return [{ name, reason: error.message }];
      },
    );
    answer = { ...answer, images: answer.images.map((old) => (old.name === name ? merged(old, image) : old)) };
  }
  return sorted(answer, order);
}

/** Ask again where the server is busy. */
async function patient(ask, signal) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!error.retryAfter || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * error.retryAfter));
    }
  }
}

const sorted = (answer, order) => ({
  ...answer,
  images: answer.images.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)),
});

/** What the inspection says, then the first frame by one method after the other, then the other frames. */
async function askFiles({ file, methods, slow, quick }, signal, partly) {
  const order = [...methods, ...slow], some = (names, first, count) => send(file, names, first, count, signal);
  const start = decoded(await some([], 0, 1)), count = Math.min(start.frames.count, MOST);
  const waiting = { ...start, images: order.map((name) => ({ name, waiting: true, frames: [] })) };
  let answer = await oneByOne(waiting, quick ? methods : order, order, (name) => some([name], 0, 1), signal, partly);
  for (let size = CHUNK; answer.frames.shown < count;) {
    partly(answer);
    try {
      answer = joined(answer, decoded(await patient(() => some(methods, answer.frames.shown, size), signal)));
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (size === 1) return { ...answer, stopped: error.message };
      size = 1; // they took too long together
    }
  }
  return answer;
}

/** The methods that have no image of this frame, and have not refused to make one. */
export const without = (answer, { methods, slow }, frame) =>
  [...methods, ...slow].filter((name) => {
    const image = answer.images.find((one) => one.name === name);
    return !image?.reason && !image?.refused && !image?.frames?.[frame];
  });

/** The images of one frame of a sequence by all methods. */
export function askFrame(answer, asked, frame, signal, partly) {
  const order = [...asked.methods, ...asked.slow], one = (name) => send(asked.file, [name], frame, 1, signal);
  return oneByOne(answer, without(answer, asked, frame), order, one, signal, partly);
}

function send(file, methods, first, count, signal) {
  const listed = (files) => files.map(({ name, size }) => ({ name: name.slice(-100), size }));
  const { files, reference, reference_frames, setup } = file;
  const head = { client, methods, first, count, reference_frames, setup };
  const line = JSON.stringify({ ...head, files: listed(files), reference: listed(reference) });
  const body = new Blob([`${line}\n`, ...files, ...reference]);
  return post("api/files", "application/octet-stream", body, signal);
}

/** The frames of a later answer behind those of an earlier one. */
function joined(answer, more) {
  const images = answer.images.map((old) => {
    const found = more.images.find((one) => one.name === old.name);
    return found ? merged(old, found) : old;
  });
  const readings = answer.readings &&
    { ...answer.readings, frames: [...answer.readings.frames, ...more.readings.frames] };
  return { ...answer, images, readings, frames: { ...answer.frames, shown: answer.frames.shown + more.frames.shown } };
}

function merged(old, found) {
  if (found.reason && old.frames?.some(Boolean)) return { ...old, refused: found.reason };
  if (found.reason || !old.frames) return found;
  const both = (name) => Object.assign((old[name] ?? []).slice(), found[name] ?? []); // with their holes
  return {
    ...found,
    ...Object.fromEntries(["frames", "uncertainty", "sigma", "warnings"].map((name) => [name, both(name)])),
  };
}

/** Arrays in the place of base64; the frames of an image are numbered as those of the measurement. */
function decoded(answer) {
  if (answer.file) return answer;
  const { readings, images, frames } = answer;
  const placed = (fields) => Object.assign([], Object.fromEntries(fields.map((one, k) => [frames.first + k, one])));
  const image = (one) =>
    one.reason ? one : {
      ...one,
      frames: placed(one.frames.map(field)),
      uncertainty: placed(one.uncertainty.map(field)),
      sigma: placed(one.sigma.map(field)),
      warnings: placed(one.warnings),
    };
  const known = readings && { ...readings, frames: rows(readings.frames), reference: rows(readings.reference)?.[0] };
  return { ...answer, readings: known, images: images.map(image) };
}
