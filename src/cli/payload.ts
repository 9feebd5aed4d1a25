// A payload on the command line: JSON as a word or from stdin, and the definition in the config that says what fits.

import { findInexactInteger, inexactText } from "../base/inexact-integers.js";
import { distance } from "../base/settings.js";
import type { Config } from "../config/config.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { createJobRedactor, hideContents, type JobRedactor } from "../jobs/redact-job.js";
import { UsageError } from "./failure.js";
import type { Target } from "./target.js";
import { oneLine } from "./text.js";

/** Far more than a payload may have; it only keeps an endless stream from filling the memory. */
const STDIN_BYTES_MAX = 16 * 1024 * 1024;

/** The value of a word, or of stdin where the word is "-". */
export async function readPayload(word: string): Promise<unknown> {
  const text = word === "-" ? await readStdin() : word;
  const value = parse(text);
  const inexact = findInexactInteger(text);
  if (inexact !== undefined) throw new UsageError(`The payload cannot be kept as it is: ${inexactText(inexact)}.`);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The payload is not JSON: ${why}. Quote it for the shell, like '{"to":"ann"}'.`);
  }
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > STDIN_BYTES_MAX) throw new UsageError(`The payload on stdin has more than ${STDIN_BYTES_MAX} bytes.`);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const definitionsOf = (config: Config | undefined): JobDefinition[] => [
  ...(config?.jobs ?? []),
  ...(config?.handlers ?? []).map(({ definition }) => definition),
];

export const NOT_SHOWN = "(not shown: the config with its redaction rules could not be loaded)";

/** What the project says must not be shown, by its definitions and as a whole. Where that cannot be known, no contents are; without a config nothing says so. */
export function redactorOf({ config, isConfigBroken }: Pick<Target, "config" | "isConfigBroken">): JobRedactor {
  if (isConfigBroken) return hideContents(NOT_SHOWN);
  const { redact = [], channels = [] } = config?.settings ?? {};
  return createJobRedactor(redact, [
    ...definitionsOf(config?.settings),
    ...channels.map(({ definition }) => definition),
  ]);
}

export const definitionOf = (config: Config | undefined, kind: string): JobDefinition | undefined =>
  definitionsOf(config).find((definition) => definition.kind === kind);

/** A misspelt kind is stored all the same, and then no worker runs it: worth a warning. */
export function unknownKind(config: Config, kind: string): string {
  const near = definitionsOf(config).find((definition) => distance(definition.kind, kind) <= 3);
  const hint = near === undefined ? "" : ` Did you mean ${oneLine(JSON.stringify(near.kind))}?`;
  return `the config has no job kind ${oneLine(JSON.stringify(kind))}, so the payload is not checked.${hint}`;
}
