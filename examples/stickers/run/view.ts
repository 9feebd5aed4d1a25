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

  /** Something happened. On a terminal the text stays in its column. */
  say(text: string): void {
    const seconds = `${((performance.now() - this.#startedAt) / 1_000).toFixed(1).padStart(6)} s  `;
    const width = this.isTerminal ? (this.#out.columns || 80) - seconds.length : Number.POSITIVE_INFINITY;
    this.print(seconds + folded(text, width).join(`\n${" ".repeat(seconds.length)}`));
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

/** In lines that end between words, none longer than the width where a word allows it. */
function folded(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
