// What features write with a verdict: the core puts it into the detail of the settle, under the member's name, and looks at none of it.
import type { Claim } from "../job/claim.js";
import type { Verdict, VerdictDetails } from "../job/outcome.js";

/** How one member of `VerdictDetails` is written. */
export interface VerdictDetailWriter<Value> {
  /** As JSON. `keep` seals what came from the handler or from outside; undefined: it cannot be kept. */
  text(value: Value, keep: (json: string) => string | undefined): string;
  /** Without what the database refused to keep. */
  bare(value: Value): Value;
  /** To write it may have to wait for a lock of another session. */
  readonly mayWait?: true;
}

/** One writer for each member: a detail that no writer knows does not compile. */
export type VerdictDetailWriters = {
  readonly [Name in keyof VerdictDetails]-?: VerdictDetailWriter<NonNullable<VerdictDetails[Name]>>;
};

// biome-ignore lint/suspicious/noExplicitAny: the mapped type above pairs each value with its writer.
type AnyWriter = VerdictDetailWriter<any>;

/** The writers as a list: this is asked of every verdict. */
export type DetailList = readonly (readonly [name: keyof VerdictDetails, writer: AnyWriter])[];

export const detailList = (writers: VerdictDetailWriters): DetailList =>
  Object.entries(writers as Record<string, AnyWriter>) as unknown as DetailList;

/** What is kept instead of a result's JSON; undefined when it cannot be kept. */
export type SealResult = (claim: Claim, json: string) => string | undefined;

/** How verdicts become what is sent. */
export interface SettleFormat {
  /** Where results are sealed. Called again when a group is sent again. */
  readonly seal: SealResult | undefined;
  readonly details: DetailList;
}

/** The detail of a verdict with what features add to it. `detail` is a JSON object, or null. */
export function withDetails(detail: string, verdict: Verdict, claim: Claim, { details, seal }: SettleFormat): string {
  let text = detail;
  for (const [name, writer] of details) {
    const value = verdict[name];
    if (value === undefined) continue;
    text = withMember(
      text,
      name,
      writer.text(value, (json) => (seal === undefined ? json : seal(claim, json))),
    );
  }
  return text;
}

/** Adds a member to the text of a JSON object, or to null. */
export const withMember = (object: string, name: string, json: string): string =>
  object === "null" ? `{"${name}":${json}}` : `${object.slice(0, -1)},"${name}":${json}}`;

/** The details of a verdict without their content. */
export function bareDetails(verdict: Verdict, list: DetailList): VerdictDetails {
  const bare: Record<string, unknown> = {};
  for (const [name, writer] of list) if (verdict[name] !== undefined) bare[name] = writer.bare(verdict[name]);
  return bare;
}
