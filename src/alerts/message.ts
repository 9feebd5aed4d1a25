// An alert in one sentence.
import type { SubjectState } from "./evaluate.js";
import type { AlertRule } from "./rule.js";

const SUBJECT_CHARS_MAX = 200;

/** "More than 50 jobs wait in a queue: mails, 61 jobs". */
export function messageOf(
  { description, unit, above, clearAt }: AlertRule,
  subject: string,
  { value, detail }: Pick<SubjectState, "value" | "detail">,
): string {
  const who = subject.slice(0, SUBJECT_CHARS_MAX);
  // Still firing, but no longer above: without these words the sentence would contradict itself.
  const isBelow =
    value <= above
      ? `was above, is at ${shownValue(value, unit)} now, clear at ${shownValue(clearAt, unit)}`
      : undefined;
  const said =
    isBelow === undefined ? `${who && `${who}, `}${shownValue(value, unit)}` : `${who && `${who} `}${isBelow}`;
  return `${description}: ${said}${detail === undefined ? "" : ` (${detail})`}`;
}

export function shownValue(value: number, unit: string): string {
  const rounded = (number: number) => String(Math.round(number * 10) / 10);
  if (unit === "ratio") return `${rounded(value * 100)} %`;
  if (unit === "bytes") return value >= 1e9 ? `${rounded(value / 1e9)} GB` : `${rounded(value / 1e6)} MB`;
  const shown = rounded(value);
  // Units of things are plural words; those of time are letters.
  return unit === "" ? shown : `${shown} ${shown === "1" ? unit.replace(/(?<=..)s$/, "") : unit}`;
}
