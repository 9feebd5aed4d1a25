// Jobs that may start although their tenant, queue or kind is paused: a person asked for each of them. A claim says that there are some; only then are
// they asked for. They come by their ids, so no lane and no floor learns from them.
import { type Database, prepared } from "../../db/database.js";
import type { Claim } from "../job/claim.js";
import { type ClaimRow, toClaim } from "./claim-statements.js";

const CLAIM_EXCEPTIONS =
  prepared(`select id, lease_no, priority, tenant, kind, key, attempt, crashes, max_attempts, payload, batch, timeout_ms, trace,
    held_back from fairmill.claim_exceptions_v1($1, $2, $3, $4, durable => false, list_no => $5)`);

export async function claimExceptions(
  db: Database,
  worker: string,
  queue: string,
  kinds: readonly string[],
  jobsMax: number,
  listNo: number,
): Promise<Claim[]> {
  const [answer] = await db.pipeline([[CLAIM_EXCEPTIONS, [worker, queue, kinds, jobsMax, listNo], "texts"]]);
  if (answer!.status === "rejected") throw answer!.reason;
  // Every column is given, so that nothing is taken from what was asked.
  const asked = { worker, queue, priority: 0, tenant: "", kind: "", listNo };
  return (answer!.value as ClaimRow[]).map((row) => toClaim(row, asked));
}
