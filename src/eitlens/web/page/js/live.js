// The picture follows the drawing. While a drag goes on the newest drawing is asked for as soon as the last answer is
// there; when it ends, whatever is under way is given up for the final one.

export class Live {
  constructor(ask, show) {
    Object.assign(this, { ask, show, running: null, again: null, timer: 0 });
  }

  /** Ask for the current state. `live`: more is coming, so an answer under way is waited for. */
  request(question, live = false) {
    clearTimeout(this.timer);
    this.again = null;
    if (this.running && live) this.again = question;
    else this.#start(question);
  }

  /** Nothing to ask for. */
  stop() {
    clearTimeout(this.timer);
    this.again = null;
    this.running?.abort();
    this.running = null;
  }

  async #start(question) {
    this.running?.abort();
    const mine = (this.running = new AbortController());
    try {
      const answer = await this.ask(question, mine.signal);
      if (this.running === mine) this.show(null, answer, question);
    } catch (error) {
      if (this.running !== mine || error.name === "AbortError") return;
      this.show(error, null, question);
      if (error.retryAfter) this.timer = setTimeout(() => this.#start(question), 1000 * error.retryAfter);
    }
    if (this.running !== mine) return;
    this.running = null;
    const next = this.again;
    this.again = null;
    if (next) this.#start(next);
  }
}
