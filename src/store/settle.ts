// The statements about running jobs: settle and progress. Each names the fence; what no longer fits changes nothing.
import type { Claim } from "../model/claim.js";
import { compareIds, isSortedById } from "../model/job-id.js";
import { serializeResult } from "../model/json-content.js";
import type { Verdict } from "../model/outcome.js";
import type { Database } from "./database.js";

export interface Settlement {
  readonly claim: Claim;
  readonly verdict: Verdict;
}

/** An old id that is ready again because a settled job gave up its place. */
export interface Returned {
  readonly queue: string;
  readonly priority: number;
  readonly tenant: string;
  readonly id: string;
}

export interface SettleAnswer {
  /** Ids whose lease was lost. */
  readonly refused: readonly string[];
  readonly returned: readonly Returned[];
}

interface SettleRow {
  readonly accepted: number;
  readonly refused: string[];
  readonly admitted: [queue: string, priority: number, tenant: string, id: number][] | null;
}

const SETTLE = "select accepted, refused, admitted from fairmill.settle_v1($1, $2, $3, $4, $5)";
const PROGRESS = "select fairmill.progress_v1($1, $2, $3, $4) as refused";

const idOf = ({ claim }: Settlement) => claim.id;

/** What is kept instead of a result's JSON; undefined when it cannot be kept. */
export type SealResult = (claim: Claim, json: string) => string | undefined;

/** Writes the verdicts of one worker's jobs in one durable transaction. Safe to repeat. */
export async function settleJobs(
  db: Database,
  worker: string,
  settlements: readonly Settlement[],
  seal?: SealResult,
): Promise<SettleAnswer> {
  // By id, like everybody who locks several jobs.
  const sorted = isSortedById(settlements, idOf)
    ? settlements
    : settlements.toSorted((a, b) => compareIds(a.claim.id, b.claim.id));
  // Array literals are written by hand: ids, numbers and verdicts contain nothing that would have to be quoted.
  let ids = "{";
  let leases = "{";
  let verdicts = "{";
  let details = "[";
  let hasDetails = false;
  for (let i = 0; i < sorted.length; i++) {
    const { claim, verdict } = sorted[i]!;
    const comma = i === 0 ? "" : ",";
    const detail = detailOf(claim, verdict, seal);
    if (detail !== "null") hasDetails = true;
    ids += comma + claim.id;
    leases += comma + claim.leaseNo;
    verdicts += comma + verdict.verdict;
    details += comma + detail;
  }
  const [row] = await db.query<SettleRow>(SETTLE, [
    worker,
    `${ids}}`,
    `${leases}}`,
    `${verdicts}}`,
    hasDetails ? `${details}]` : null,
  ]);
  if (!row || row.accepted + row.refused.length !== sorted.length)
    throw new Error(`settle_v1 answered for ${row?.accepted} + ${row?.refused.length} jobs, not for ${sorted.length}.`);
  const returned = (row.admitted ?? []).map(([queue, priority, tenant, id]) => ({
    queue,
    priority,
    tenant,
    id: String(id),
  }));
  return { refused: row.refused, returned };
}

/** Of a delivery job also what its attempt to send came to: the message has its mark in the transaction that settles the job. */
function detailOf(claim: Claim, verdict: Verdict, seal: SealResult | undefined): string {
  const detail = detailOfJob(claim, verdict, seal);
  if (verdict.delivery === undefined) return detail;
  const { answer, ...said } = verdict.delivery;
  const { json } = serializeResult(answer);
  const kept = json === undefined || seal === undefined ? json : seal(claim, json);
  const told = JSON.stringify(said);
  const delivery = kept === undefined ? told : `${told.slice(0, -1)},"answer":${kept}}`;
  return detail === "null" ? `{"delivery":${delivery}}` : `${detail.slice(0, -1)},"delivery":${delivery}}`;
}

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
    progresses.map(({ claim }) => claim.id),
    progresses.map(({ claim }) => claim.leaseNo),
    `[${progresses.map(({ json }) => json).join(",")}]`,
  ]);
  return row?.refused ?? [];
}
