// Assertions about what a test enqueued and published. What fails says what was there instead.
import { AssertionError } from "node:assert";
import { contains } from "./content-match.js";
import type { SeenJob, SeenMessage } from "./seen.js";

/** Enough to see what went wrong. */
const SHOWN_MAX = 20;
const SHOWN_CHARACTERS_MAX = 200;

export function expectSome<Thing>(
  all: readonly Thing[],
  fits: (thing: Thing) => boolean,
  words: { readonly wanted: string; readonly done: string; readonly show: (thing: Thing) => string },
): Thing[] {
  const found = all.filter(fits);
  if (found.length > 0) return found;
  throw failed(`Expected ${words.wanted}, but ${listOf(all, words)}.`);
}

export function expectNone<Thing>(
  all: readonly Thing[],
  fits: (thing: Thing) => boolean,
  words: { readonly wanted: string; readonly done: string; readonly show: (thing: Thing) => string },
): void {
  const found = all.filter(fits);
  if (found.length > 0) throw failed(`Expected no ${words.wanted}, but ${listOf(found, words)}.`);
}

function listOf<Thing>(all: readonly Thing[], words: { done: string; show: (thing: Thing) => string }): string {
  if (all.length === 0) return `nothing was ${words.done}`;
  const lines = all.slice(0, SHOWN_MAX).map((thing) => `\n  ${words.show(thing)}`);
  if (all.length > SHOWN_MAX) lines.push(`\n  … and ${all.length - SHOWN_MAX} more`);
  return `this was ${words.done}:${lines.join("")}\n`;
}

const failed = (message: string) => new AssertionError({ message, operator: "fairmill" });

export const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
};

export const showJob = ({ kind, tenant, input, state }: SeenJob): string =>
  `${kind} ${short(input)} for ${tenant}, ${state}`;

export const showMessage = ({ channel, tenant, payload, status }: SeenMessage): string =>
  `${channel} ${short(payload)} for ${tenant}, ${status}`;

/** What a job or message is asked for: members of its content, and its tenant. */
export interface Wanted {
  readonly tenant?: string;
}

export const fitsJob = (kind: string, input: unknown, { tenant }: Wanted) => {
  return (job: SeenJob): boolean =>
    job.kind === kind &&
    (input === undefined || contains(job.input, input)) &&
    (tenant === undefined || tenant === job.tenant);
};

export const fitsMessage = (channel: string, payload: unknown, { tenant }: Wanted) => {
  return (message: SeenMessage): boolean =>
    message.channel === channel &&
    (payload === undefined || contains(message.payload, payload)) &&
    (tenant === undefined || tenant === message.tenant);
};
