// The statements about running jobs: settle and progress. Each names the fence; what no longer fits changes nothing.

import { compareIds, isSortedById } from "../../base/job-id.js";
import { serializeResult } from "../../base/json-content.js";
import { ANSWER_MS_MAX, type Database, prepared } from "../../db/database.js";
import type { Claim } from "../job/claim.js";
import type { Effects } from "../job/effects.js";
import type { Verdict } from "../job/outcome.js";
import { effectsText } from "./effect-statements.js";
import { type Admitted, type Returned, toReturned } from "./returned.js";
import { type SealResult, type SettleFormat, withDetails, withMember } from "./verdict-details.js";

export type { Returned };

export interface Settlement {
  readonly claim: Claim;
  readonly verdict: Verdict;
  /** What the handler asked for: written with the verdict, or neither is. */
  readonly effects?: Effects | undefined;
}

export interface SettleAnswer {
  /** Ids whose lease was lost. */
  readonly refused: readonly string[];
  readonly returned: readonly Returned[];
}

interface SettleRow {
  readonly accepted: number;
  readonly refused: string[];
  readonly admitted: Admitted[] | null;
}

const SETTLE = prepared("select accepted, refused, admitted from fairmill.settle_v1($1, $2, $3, $4, $5)");
const PROGRESS = prepared("select fairmill.progress_v1($1, $2, $3, $4) as refused");

/** It enqueues, itself or by the callbacks and nodes of its batch: for that it may have to wait for a transaction of a caller. */
const mayWait = ({ claim, effects }: Settlement) => effects !== undefined || claim.batch !== null;

const idOf = ({ claim }: Settlement) => claim.id;

/** Writes the verdicts of one worker's jobs in one durable transaction. Safe to repeat. */
export async function settleJobs(
  db: Database,
  worker: string,
  settlements: readonly Settlement[],
  format: SettleFormat,
): Promise<SettleAnswer> {
  // By id, like every transaction that locks several jobs.
  const sorted = isSortedById(settlements, idOf)
    ? settlements
    : settlements.toSorted((a, b) => compareIds(a.claim.id, b.claim.id));
  const details = sorted.map(({ claim, verdict, effects }) => withEffects(detailOf(claim, verdict, format), effects));
  // Array literals are built here: ids, numbers and verdicts contain nothing that would have to be quoted.
  const values = [
    worker,
    `{${sorted.map(({ claim }) => claim.id).join()}}`,
    `{${sorted.map(({ claim }) => claim.leaseNo).join()}}`,
    `{${sorted.map(({ verdict }) => verdict.verdict).join()}}`,
    details.some((detail) => detail !== "null") ? `[${details.join()}]` : null,
  ];
  const [row] = await db.query<SettleRow>(SETTLE, values, sorted.some(mayWait) ? ANSWER_MS_MAX : undefined);
  if (!row || row.accepted + row.refused.length !== sorted.length)
    throw new Error(`settle_v1 answered for ${row?.accepted} + ${row?.refused.length} jobs, not for ${sorted.length}.`);
  return { refused: row.refused, returned: toReturned(row.admitted ?? []) };
}

/** The detail of a job that is done, for a settle inside a caller's transaction. */
export function detailOfDone(
  claim: Claim,
  done: Verdict,
  effects: Effects | undefined,
  format: SettleFormat,
): string | null {
  const detail = withEffects(detailOf(claim, done, format), effects);
  return detail === "null" ? null : detail;
}

const withEffects = (detail: string, effects: Effects | undefined): string =>
  effects === undefined ? detail : withMember(detail, "effects", effectsText(effects));

const detailOf = (claim: Claim, verdict: Verdict, format: SettleFormat): string =>
  withDetails(detailOfJob(claim, verdict, format.seal), verdict, claim, format);

function detailOfJob(claim: Claim, verdict: Verdict, seal: SealResult | undefined): string {
  switch (verdict.verdict) {
    case "done": {
      if (verdict.result === undefined) return "null";
      const { json } = serializeResult(verdict.result);
      const kept = json === undefined || seal === undefined ? json : seal(claim, json);
      return kept === undefined ? "null" : `{"result":${kept}}`;
    }
    case "dead":
      return JSON.stringify({ outcome: verdict.outcome, error: verdict.error });
    case "retry":
      return JSON.stringify({ outcome: verdict.outcome, error: verdict.error, delay_ms: verdict.delayMs });
    case "snooze":
      return JSON.stringify({ delay_ms: verdict.delayMs, waits: verdict.waits });
    case "cancelled":
      return verdict.error ? JSON.stringify({ outcome: "cancelled", error: verdict.error }) : "null";
    case "crashed":
      return JSON.stringify({ reason: verdict.reason, crashes_max: verdict.crashesMax });
    case "release":
      if (verdict.yields) return '{"yields":true}';
      return verdict.reason === undefined ? "null" : JSON.stringify({ reason: verdict.reason });
  }
}

/** Keeps the latest progress of several running jobs. Returns the ids whose lease was lost. */
export async function storeProgress(
  db: Database,
  worker: string,
  progresses: readonly { readonly claim: Claim; readonly json: string }[],
): Promise<string[]> {
  const [row] = await db.query<{ refused: string[] }>(PROGRESS, [
    worker,
    progresses.map(({ claim }) => claim.id),
    progresses.map(({ claim }) => claim.leaseNo),
    `[${progresses.map(({ json }) => json).join(",")}]`,
  ]);
  return row?.refused ?? [];
}
