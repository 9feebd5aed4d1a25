// Messages as lines: one JSON text a line in, one a line out. Calls run side by side; answers go out as they come.
import type { Readable, Writable } from "node:stream";
import { failure, type McpServer, PARSE_ERROR } from "./server.js";

/** A line that is longer is refused and skipped. */
const LINE_CHARACTERS_MAX = 2 * 1024 * 1024;
const PENDING_MAX = 100;

/** Resolves when the input has ended and everything is answered. */
export async function speak(server: McpServer, input: Readable, output: Writable, signal: AbortSignal): Promise<void> {
  const pending = new Set<Promise<void>>();
  const send = (answer: unknown) => void output.write(`${JSON.stringify(answer)}\n`);
  const take = async (line: string): Promise<void> => {
    if (line.trim() === "") return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return send(failure(null, PARSE_ERROR, "This line is no JSON."));
    }
    const answer = await server.receive(message);
    if (answer !== undefined) send(answer);
  };
  for await (const line of linesOf(input, signal)) {
    if (line === undefined) send(failure(null, PARSE_ERROR, `A line has at most ${LINE_CHARACTERS_MAX} characters.`));
    else {
      const work = take(line).finally(() => pending.delete(work));
      pending.add(work);
      if (pending.size >= PENDING_MAX) await Promise.race(pending);
    }
  }
  await Promise.all(pending);
}

/** undefined: a line that was too long. */
async function* linesOf(input: Readable, signal: AbortSignal): AsyncGenerator<string | undefined> {
  input.setEncoding("utf8");
  const stop = () => input.destroy();
  signal.addEventListener("abort", stop, { once: true });
  let rest = "";
  let isSkipping = false;
  try {
    for await (const chunk of input as AsyncIterable<string>) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop()!;
      for (const line of parts) {
        if (isSkipping) isSkipping = false;
        else if (line.length > LINE_CHARACTERS_MAX) yield undefined;
        else yield line;
      }
      if (rest.length > LINE_CHARACTERS_MAX) {
        if (!isSkipping) yield undefined;
        isSkipping = true;
        rest = "";
      }
    }
    if (!isSkipping && rest !== "") yield rest;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
