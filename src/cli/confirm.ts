// Asking a person before something that cannot be taken back. Only a y is a yes.
import { createInterface } from "node:readline/promises";

export async function confirm(
  question: string,
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<boolean> {
  const lines = createInterface({ input, output });
  // The end of the input, and Ctrl-C, are no answer, and no answer is a no.
  const ended = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), ended]);
    // Return was not pressed: what comes next begins on a line of its own.
    if (answer === undefined) output.write("\n");
    return answer !== undefined && /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    lines.close();
  }
}
