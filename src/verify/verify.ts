// Asks a live database whether the invariants hold: reads only, a bounded part of a table at a time, each question in one snapshot.
//
//  1. Walk along the invariant's table in parts. A part that takes longer than a statement may is halved; a single row that still does is left out,
//     and said.
//  2. What breaks the invariant is asked about again after a pause, as often as `looks` says. What other sessions were in the middle of is over by
//     then; a violation stays.
import { type Clock, sleep } from "../base/clock.js";
import type { Database } from "../db/database.js";
import { FIRST, type Invariant, WALKS } from "./invariant.js";
import { INVARIANTS } from "./invariants.js";

export interface VerifyOptions {
  readonly clock: Clock;
  /** Rows of a part; default 5,000. */
  readonly rowsMax?: number;
  /** How long one statement may take; default 10 s. */
  readonly statementMsMax?: number;
  /** How often what looks broken is looked at before it is said, with a pause of a second between: default 3. */
  readonly looks?: number;
  readonly pauseMs?: number;
  readonly signal?: AbortSignal;
  readonly invariants?: readonly Invariant[];
  readonly onProgress?: (progress: VerifyProgress) => void;
}

export interface VerifyProgress {
  readonly invariant: Invariant;
  /** Its number, from 1, and how many there are. */
  readonly number: number;
  readonly of: number;
  /** The last key of the part that was asked; undefined: the table is done. */
  readonly until: string | undefined;
}

export interface Verified {
  readonly id: string;
  readonly sentence: string;
  /** Rows that break it, at most a hundred. */
  readonly broken: readonly string[];
  /** Parts that no statement could answer in time: behind the first key and up to the second. */
  readonly unanswered: readonly { readonly after: string; readonly until: string | undefined }[];
}

const BROKEN_MAX = 100;
const UNANSWERED_MAX = 20;

export async function verify(db: Database, options: VerifyOptions): Promise<Verified[]> {
  const invariants = options.invariants ?? INVARIANTS;
  const verified: Verified[] = [];
  for (const [index, invariant] of invariants.entries()) {
    if (options.signal?.aborted) break;
    const tell = (until: string | undefined) =>
      options.onProgress?.({ invariant, number: index + 1, of: invariants.length, until });
    verified.push(await verifyOne(db, invariant, options, tell));
  }
  return verified;
}

interface Part {
  readonly after: string;
  /** Undefined: to the end, and behind it. */
  readonly until: string | undefined;
}

async function verifyOne(
  db: Database,
  invariant: Invariant,
  options: VerifyOptions,
  tell: (until: string | undefined) => void,
): Promise<Verified> {
  const { boundary, key } = WALKS[invariant.walk];
  const { rowsMax = 5_000, statementMsMax = 10_000, signal } = options;
  const ask = (text: string, values: readonly unknown[]) => askReadOnly(db, text, values, statementMsMax);
  const broken = new Set<string>();
  const unanswered: Part[] = [];
  let rows = rowsMax;
  for (let after: string = FIRST[key]; !signal?.aborted; ) {
    const [edge] = (await ask(boundary, [after, rows])) as { until: string | null }[];
    const part: Part = { after, until: edge?.until ?? undefined };
    try {
      for (const id of await brokenIn(invariant, part, ask, options)) broken.add(id);
    } catch (error) {
      if (!isTooLong(error)) throw error;
      if (rows > 1) {
        rows = Math.max(1, Math.floor(rows / 10));
        continue;
      }
      unanswered.push(part);
    }
    tell(part.until);
    if (part.until === undefined || broken.size >= BROKEN_MAX || unanswered.length >= UNANSWERED_MAX) break;
    after = part.until;
    rows = Math.min(rowsMax, rows * 2);
  }
  const { id, sentence } = invariant;
  return { id, sentence, broken: [...broken].slice(0, BROKEN_MAX), unanswered };
}

type Ask = (text: string, values: readonly unknown[]) => Promise<unknown[]>;

async function brokenIn(invariant: Invariant, part: Part, ask: Ask, options: VerifyOptions): Promise<string[]> {
  const { clock, looks = 3, pauseMs = 1_000, signal } = options;
  const look = async () => {
    const rows = (await ask(limited(invariant), [part.after, part.until ?? null])) as { id: string }[];
    return new Set(rows.map(({ id }) => id));
  };
  let found = await look();
  for (let n = 1; n < looks && found.size > 0 && !signal?.aborted; n++) {
    await sleep(clock, pauseMs, signal);
    const again = await look();
    found = new Set([...found].filter((id) => again.has(id)));
  }
  return [...found];
}

/** Ordered, so that a second look sees the same rows of many. */
const limited = ({ query }: Invariant) =>
  `select id from (select distinct id::text as id from (${query}) found) named order by id limit ${BROKEN_MAX}`;

async function askReadOnly(
  db: Database,
  text: string,
  values: readonly unknown[],
  statementMsMax: number,
): Promise<unknown[]> {
  return db.transaction(async (tx) => {
    await tx.query(`set transaction read only; set local statement_timeout = ${Math.round(statementMsMax)}`);
    return (await tx.query(text, [...values])).rows;
  });
}

/** The statement was cancelled because it took longer than it may. */
const isTooLong = (error: unknown) => (error as { code?: unknown }).code === "57014";
