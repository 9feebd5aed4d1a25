// Lines that say what happened, and below them, on a terminal, one line about now that is drawn over itself.
export class View {
  readonly #out: NodeJS.WriteStream;
  readonly #startedAt = performance.now();
  #now = "";

  constructor(out: NodeJS.WriteStream = process.stdout) {
    this.#out = out;
  }

  get isTerminal(): boolean {
    return this.#out.isTTY === true;
  }

  /** Something happened. */
  say(text: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1_000).toFixed(1).padStart(6);
    this.print(`${seconds} s  ${text}`);
  }

  /** As it is, without the time. */
  print(text: string): void {
    this.#out.write(`${this.#erase()}${text}\n${this.#now}`);
  }

  /** How things stand. Only where it can be drawn over. */
  show(text: string): void {
    if (!this.isTerminal) return;
    // Never as wide as the window: a line that breaks cannot be drawn over.
    const line = text.slice(0, Math.max(1, (this.#out.columns || 80) - 1));
    this.#out.write(`${this.#erase()}${line}`);
    this.#now = line;
  }

  leave(): void {
    if (this.#now !== "") this.#out.write("\n");
    this.#now = "";
  }

  #erase(): string {
    return this.#now === "" ? "" : "\r\x1b[2K";
  }
}
