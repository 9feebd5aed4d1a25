// An alert in one sentence.
import type { SubjectState } from "./evaluate.js";
import type { AlertRule } from "./rule.js";

const SUBJECT_CHARS_MAX = 200;

/** "More than 50 jobs wait in a queue: mails has 61 jobs". */
export function messageOf(
  { description, unit }: AlertRule,
  subject: string,
  { value, detail }: Pick<SubjectState, "value" | "detail">,
): string {
  const who = subject === "" ? "" : `${subject.slice(0, SUBJECT_CHARS_MAX)} `;
  return `${description}: ${who}${shownValue(value, unit)}${detail === undefined ? "" : ` (${detail})`}`;
}

export function shownValue(value: number, unit: string): string {
  const rounded = (number: number) => String(Math.round(number * 10) / 10);
  if (unit === "ratio") return `${rounded(value * 100)} %`;
  if (unit === "bytes") return value >= 1e9 ? `${rounded(value / 1e9)} GB` : `${rounded(value / 1e6)} MB`;
  return unit === "" ? rounded(value) : `${rounded(value)} ${unit}`;
}
