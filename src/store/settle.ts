// The statements about running jobs: settle and progress. Each names the fence; what no longer fits changes nothing.
import type { Claim } from "../model/claim.js";
import { serializeResult } from "../model/json-content.js";
import type { Verdict } from "../model/outcome.js";
import type { Database } from "./database.js";

export interface Settlement {
  readonly claim: Claim;
  readonly verdict: Verdict;
}

const SETTLE = "select accepted, refused from fairmill.settle_v1($1, $2, $3, $4, $5)";
const PROGRESS = "select fairmill.progress_v1($1, $2, $3, $4) as refused";

/** Writes the verdicts of one worker's jobs in one durable transaction. Returns the ids whose lease was lost. Safe to repeat. */
export async function settleJobs(db: Database, worker: string, settlements: readonly Settlement[]): Promise<string[]> {
  // By id, like everybody who locks several jobs.
  const sorted = settlements.toSorted((a, b) => Number(a.claim.id) - Number(b.claim.id));
  const details = sorted.map(({ verdict }) => detailOf(verdict));
  const [row] = await db.query<{ accepted: number; refused: string[] }>(SETTLE, [
    worker,
    arrayOf(sorted.map(({ claim }) => claim.id)),
    arrayOf(sorted.map(({ claim }) => claim.leaseNo)),
    arrayOf(sorted.map(({ verdict }) => verdict.verdict)),
    details.every((detail) => detail === "null") ? null : `[${details.join(",")}]`,
  ]);
  if (!row || row.accepted + row.refused.length !== sorted.length)
    throw new Error(`settle_v1 answered for ${row?.accepted} + ${row?.refused.length} jobs, not for ${sorted.length}.`);
  return row.refused;
}

/** Ids, numbers and verdicts contain nothing that an array literal would have to quote. */
const arrayOf = (plain: readonly (string | number)[]) => `{${plain.join(",")}}`;

function detailOf(verdict: Verdict): string {
  switch (verdict.verdict) {
    case "done": {
      const { json } = serializeResult(verdict.result);
      return json === undefined ? "null" : `{"result":${json}}`;
    }
    case "dead":
      return JSON.stringify({ outcome: verdict.outcome, error: verdict.error });
    case "retry":
      return JSON.stringify({ outcome: verdict.outcome, error: verdict.error, delay_ms: verdict.delayMs });
    case "snooze":
      return JSON.stringify({ delay_ms: verdict.delayMs });
    case "cancelled":
      return verdict.error ? JSON.stringify({ outcome: "cancelled", error: verdict.error }) : "null";
    case "release":
      return "null";
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
    arrayOf(progresses.map(({ claim }) => claim.id)),
    arrayOf(progresses.map(({ claim }) => claim.leaseNo)),
    `[${progresses.map(({ json }) => json).join(",")}]`,
  ]);
  return row?.refused ?? [];
}
