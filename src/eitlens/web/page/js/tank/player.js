// A sequence of frames: play it, or go to one of them.

import { byId } from "../dom.js";

const SHORTEST = 40, LONGEST = 1000, UNTIMED = 120; // milliseconds a frame

export class Player {
  #timer = 0;

  /** `rested` is called when it stops on a frame. */
  constructor(store, rested) {
    this.store = store;
    this.rested = rested;
    byId("play").addEventListener("click", () => (this.#timer ? this.pause() : this.play()));
    byId("frame").addEventListener("input", () => {
      this.pause();
      store.set({ frame: Number(byId("frame").value) });
    });
  }

  get playing() {
    return this.#timer !== 0;
  }

  play() {
    byId("play").setAttribute("aria-label", "Pause");
    byId("play").classList.add("on");
    this.#timer = setInterval(() => {
      const frames = this.store.state.latest?.answer.frames;
      if (frames) this.store.set({ frame: (this.store.state.frame + 1) % frames.shown });
    }, pace(this.store.state.latest.answer.frames.times));
  }

  /** Stop where it is. */
  pause() {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = 0;
    byId("play").setAttribute("aria-label", "Play");
    byId("play").classList.remove("on");
    this.rested();
  }

  show({ latest, frame }) {
    const frames = latest?.answer.frames;
    byId("player").hidden = !frames || frames.count < 2;
    if (byId("player").hidden) return this.pause();
    byId("frame").max = frames.shown - 1;
    byId("frame").value = frame;
    const time = frames.times ? `, ${frames.times[frame].toFixed(2)} s` : "";
    const loaded = frames.shown < frames.count ? ` (${frames.shown} are there)` : "";
    const words = `frame ${frame + 1} of ${frames.count}${time}${loaded}`;
    byId("frame-value").textContent = words;
    return byId("frame").setAttribute("aria-valuetext", words);
  }
}

function pace(times) {
  if (!times || times.length < 2) return UNTIMED;
  const steps = times.slice(1).map((t, k) => 1000 * (t - times[k])).sort((a, b) => a - b);
  return Math.min(LONGEST, Math.max(SHORTEST, steps[Math.floor(steps.length / 2)]));
}
