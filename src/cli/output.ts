// Where a command's words go. For people: results to stdout, remarks to stderr. With --json: one value on stdout, nothing else.
import { toJson } from "./text.js";

/** Where nothing says how wide the reader's window is. */
const COLUMNS_WHEN_UNKNOWN = 200;

export class Output {
  readonly json: boolean;
  readonly #toStdout: (text: string) => void;

  constructor(json: boolean) {
    this.json = json;
    const write = process.stdout.write.bind(process.stdout);
    this.#toStdout = (text) => void write(text);
    // A config or a handler that prints would spoil the one value: with --json its words go to stderr.
    if (json) process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  }

  /** What the command found out or did: a value for programs, a text for people. */
  result(value: unknown, text: string): void {
    this.#toStdout(this.json ? `${toJson(value)}\n` : `${text}\n`);
  }

  /** A remark beside the result, for people only. */
  note(text: string): void {
    if (!this.json) process.stderr.write(`${text}\n`);
  }

  failure(error: { code: string; message: string }, text: string): void {
    if (this.json) this.#toStdout(`${toJson({ error })}\n`);
    else process.stderr.write(`${text}\n`);
  }

  get columns(): number {
    return process.stdout.columns || Number(process.env["COLUMNS"]) || COLUMNS_WHEN_UNKNOWN;
  }

  get coloured(): boolean {
    return process.stdout.isTTY === true && !process.env["NO_COLOR"];
  }
}

/** Resolves when everything written has left the process, so that it may end. */
export async function flushed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((resolve) => void stream.write("", () => resolve()));
}
