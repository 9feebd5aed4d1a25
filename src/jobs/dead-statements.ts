// The statements about dead letters: what a redrive would put back, the next batch of it, and a job repeated with other input.

import { type Refusal, toError } from "../db/refusals.js";
import { idOf, type RowId, type Session } from "../db/session.js";

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
export async function redriveBatch(db: Session, filter: StoredFilter, jobsMax: number, after: string): Promise<Batch> {
  const text = "select * from fairmill.redrive_v1($1, $2, $3)";
  const [row] = await db.query<Omit<Batch, "last_id"> & { last_id: RowId }>(text, [
    JSON.stringify(filter),
    jobsMax,
    after,
  ]);
  return { ...row!, last_id: idOf(row!.last_id) };
}

/** Counts what fits among the next dead jobs; changes nothing. */
export async function countDead(db: Session, filter: StoredFilter, jobsMax: number, after: string): Promise<Counted> {
  const text = "select * from fairmill.preview_redrive_v1($1, $2, $3)";
  type Row = Omit<Counted, "last_id" | "samples"> & { last_id: RowId; samples: RowId[] };
  const [row] = await db.query<Row>(text, [JSON.stringify(filter), jobsMax, after]);
  return { ...row!, last_id: idOf(row!.last_id), samples: row!.samples.map(idOf) };
}

export type RerunAnswer =
  | { readonly answer: "stored" | "known"; readonly id: string }
  | { readonly answer: "live" }
  | { readonly answer: "delivery" }
  | { readonly answer: "not_found" };

/** `changes` is JSON text: the payload in it was made by others. Throws what a limit at enqueue says. */
export async function rerunJob(
  db: Session & { readonly isAlone: boolean },
  id: string,
  changes: string,
): Promise<RerunAnswer> {
  const text = "select id::text as id, answer, refused from fairmill.rerun_v1($1, $2, alone => $3)";
  const [row] = await db.query<RerunAnswer & { refused: Refusal | null }>(text, [id, changes, db.isAlone]);
  if (row!.refused !== null) throw toError(row!.refused);
  return row!;
}
