// Where a command's words go. For people: results to stdout, remarks to stderr. With --json: one value on stdout, nothing else.
import { toJson } from "./text.js";

/** Where nothing says how wide the reader's window is. */
const COLUMNS_WHEN_UNKNOWN = 200;

/** The real one, whatever becomes of `process.stdout.write`. */
const writeToStdout = process.stdout.write.bind(process.stdout) as (text: string, done?: () => void) => boolean;

export class Output {
  readonly json: boolean;

  constructor(json: boolean) {
    this.json = json;
    // A config or a handler that prints would spoil the one value: with --json its words go to stderr.
    if (json) process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
  }

  /** What the command found out or did: a value for programs, a text for people. */
  result(value: unknown, text: string): void {
    writeToStdout(this.json ? `${toJson(value)}\n` : `${text}\n`);
  }

  /** That what was asked for was not done: the same value for programs, and a text where people look for trouble. */
  refusal(value: unknown, text: string): void {
    if (this.json) this.result(value, "");
    else process.stderr.write(`${text}\n`);
  }

  /** A remark beside the result, for people only. */
  note(text: string): void {
    if (!this.json) process.stderr.write(`${text}\n`);
  }

  failure(error: { code: string; message: string }, text: string): void {
    if (this.json) writeToStdout(`${toJson({ error })}\n`);
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
  await new Promise<void>((resolve) => void writeToStdout("", resolve));
  await new Promise<void>((resolve) => void process.stderr.write("", () => resolve()));
}
