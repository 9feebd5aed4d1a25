// The statements about dead letters: what a redrive would put back, the next batch of it, and a job repeated with other input.

import type { Database } from "../db/database.js";
import { type Refusal, toError } from "../db/refusals.js";

/** As the database reads it: see redrive_v1. */
export type StoredFilter = Readonly<Record<string, unknown>>;

interface Looked {
  readonly seen: number;
  readonly last_id: string;
  readonly more: boolean;
}

export interface Batch extends Looked {
  readonly redriven: number;
}

export interface Counted extends Looked {
  readonly fitting: number;
  readonly groups: readonly { readonly kind: string; readonly error_code: string | null; readonly count: number }[];
  readonly samples: readonly string[];
}

/** Puts the next jobs back, in a transaction of their own. */
export async function redriveBatch(db: Database, filter: StoredFilter, jobsMax: number, after: string): Promise<Batch> {
  const text = "select * from fairmill.redrive_v1($1, $2, $3)";
  return (await db.query<Batch>(text, [JSON.stringify(filter), jobsMax, after]))[0]!;
}

/** Counts what fits among the next dead jobs; changes nothing. */
export async function countDead(db: Database, filter: StoredFilter, jobsMax: number, after: string): Promise<Counted> {
  const text = "select * from fairmill.preview_redrive_v1($1, $2, $3)";
  return (await db.query<Counted>(text, [JSON.stringify(filter), jobsMax, after]))[0]!;
}

export type RerunAnswer =
  | { readonly answer: "stored" | "known"; readonly id: string }
  | { readonly answer: "live" }
  | { readonly answer: "delivery" }
  | { readonly answer: "not_found" };

/** `changes` is JSON text: the payload in it was made by others. Throws what a limit at enqueue says. */
export async function rerunJob(db: Database, id: string, changes: string): Promise<RerunAnswer> {
  const text = "select id, answer, refused from fairmill.rerun_v1($1, $2, alone => true)";
  const [row] = await db.query<RerunAnswer & { refused: Refusal | null }>(text, [id, changes]);
  if (row!.refused !== null) throw toError(row!.refused);
  return row!;
}
