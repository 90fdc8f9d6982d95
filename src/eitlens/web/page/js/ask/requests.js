// The picture follows the drawing. While a drag goes on the newest drawing is asked for as soon as the last answer is
// there; when it ends, whatever is under way is given up for the final one.

export class Requests {
  #running = null;
  #next = null;
  #timer = 0;

  /** `ask(question, signal, partly)` promises an answer, and tells `partly` of parts; `show(error, answer, question)` is told of all. */
  constructor(ask, show) {
    this.ask = ask;
    this.show = show;
  }

  /** Ask a question. After a quick one more is coming, so for it an answer under way is waited for. */
  send(question) {
    clearTimeout(this.#timer);
    this.#next = null;
    if (this.#running && question.quick) this.#next = question;
    else this.#start(question);
  }

  /** Nothing to ask for. */
  stop() {
    clearTimeout(this.#timer);
    this.#next = null;
    this.#running?.abort();
    this.#running = null;
  }

  async #start(question) {
    this.#running?.abort();
    const mine = (this.#running = new AbortController());
    try {
      const partly = (part) => this.#running === mine && this.show(null, part, question);
      const answer = await this.ask(question, mine.signal, partly);
      if (this.#running === mine) this.show(null, answer, question);
    } catch (error) {
      if (this.#running !== mine || error.name === "AbortError") return;
      this.show(error, null, question);
      if (error.retryAfter) this.#timer = setTimeout(() => this.#start(question), 1000 * error.retryAfter);
    }
    if (this.#running !== mine) return;
    const next = this.#next;
    this.#running = this.#next = null;
    if (next) this.#start(next);
  }
}
