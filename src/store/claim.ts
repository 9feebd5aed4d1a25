// The statements of claiming: which lanes wait, what is new, and the claim itself.
import type { Claim } from "../model/claim.js";
import type { Database, Statement } from "./database.js";

export interface LaneName {
  readonly priority: number;
  readonly tenant: string;
}

/** One lane to probe: ids above `floor`, at most `quantum` jobs. */
export interface Probe extends LaneName {
  readonly queue: string;
  readonly floor: string;
  readonly quantum: number;
}

/** What came in since the last look. */
export interface News {
  readonly lanes: readonly (LaneName & { readonly queue: string })[];
  readonly rescanNos: ReadonlyMap<string, string>;
  readonly tail: string;
  /** More came in than was looked at: ask for all lanes. */
  readonly isFull: boolean;
}

/** A claim need not survive a crash of the server: lost, it leaves the job ready, and the fence keeps the old holder out. */
const CLAIM = `select c.* from (select set_config('synchronous_commit', 'off', true)) as fast,
  lateral fairmill.claim_lanes_v1($1, $2, $3, $4, $5, $6, $7, $8) as c`;
const NEWS = "select * from fairmill.news_v1($1, $2)";
const LANES = "select priority, tenant from fairmill.lanes_v1($1, $2, $3, $4)";

interface ClaimRow {
  id: string;
  lease_no: number;
  queue: string;
  priority: number;
  tenant: string;
  kind: string;
  key: string | null;
  attempt: number;
  crashes: number;
  max_attempts: number;
  created_at_ms: string;
  payload: unknown;
}

interface NewsRow {
  queue: string | null;
  priority: number | null;
  tenant: string | null;
  id: string | null;
  rescan_no: string | null;
  is_full: boolean | null;
}

/** The lanes of a queue with ready jobs, highest priority first, `lanesMax` at a time. */
export function readLanes(
  db: Database,
  queue: string,
  after: LaneName | undefined,
  lanesMax: number,
): Promise<LaneName[]> {
  return db.query<LaneName>(LANES, [queue, after?.priority ?? null, after?.tenant ?? null, lanesMax]);
}

/** Claims along the probes, and looks for news in the same round trip. */
export async function claimAlong(
  db: Database,
  worker: string,
  probes: readonly Probe[],
  kinds: readonly string[],
  jobsMax: number,
  queues: readonly string[],
  tail: string,
): Promise<{ claims: Claim[]; news: News | undefined }> {
  const claim: Statement = [
    CLAIM,
    [
      worker,
      probes.map((probe) => probe.queue),
      probes.map((probe) => probe.priority),
      probes.map((probe) => probe.tenant),
      probes.map((probe) => probe.floor),
      probes.map((probe) => probe.quantum),
      kinds,
      jobsMax,
    ],
  ];
  const [claimed, news] = await db.together([claim, [NEWS, [queues, tail]]]);
  if (claimed!.status === "rejected") throw claimed!.reason;
  return {
    claims: (claimed!.value as ClaimRow[]).map((row) => toClaim(row, worker)),
    news: news!.status === "fulfilled" ? toNews(news!.value as NewsRow[], tail) : undefined,
  };
}

const toClaim = (row: ClaimRow, worker: string): Claim => ({
  id: row.id,
  leaseNo: row.lease_no,
  worker,
  queue: row.queue,
  priority: row.priority,
  tenant: row.tenant,
  kind: row.kind,
  key: row.key,
  attempt: row.attempt,
  crashes: row.crashes,
  maxAttempts: row.max_attempts,
  createdAtMs: Number(row.created_at_ms),
  payload: row.payload,
});

function toNews(rows: readonly NewsRow[], oldTail: string): News {
  const lanes: { queue: string; priority: number; tenant: string }[] = [];
  const rescanNos = new Map<string, string>();
  let tail = oldTail;
  let isFull = false;
  for (const row of rows) {
    if (row.queue === null) {
      tail = row.id ?? oldTail;
      isFull = row.is_full === true;
    } else if (row.tenant === null) rescanNos.set(row.queue, row.rescan_no!);
    else lanes.push({ queue: row.queue, priority: row.priority!, tenant: row.tenant });
  }
  return { lanes, rescanNos, tail, isFull };
}
