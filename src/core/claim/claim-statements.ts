// The statements of claiming: which lanes wait, what is new, and the claim itself.

import { type Database, prepared, type Statement } from "../../db/database.js";
import type { Claim } from "../job/claim.js";
import { type Asked as AskedOfIds, LOOK_IDS, type Look } from "./arrivals.js";
import type { ClosedLimit, RateLimited } from "./closed-limit.js";

export interface LaneName {
  readonly priority: number;
  readonly tenant: string;
}

/** A lane in which jobs wait, with the weight of its tenant. */
export interface WaitingLane extends LaneName {
  readonly weight: number;
}

/** One lane to probe: ids above `floor`, at most `quantum` jobs. */
export interface Probe extends LaneName {
  readonly floor: string;
  readonly quantum: number;
}

/** A part of a lane: positions above `low`, up to `ceiling`. */
export interface LanePart extends LaneName {
  readonly low: string;
  readonly ceiling: string;
}

/** A lane in which jobs came in, and the position of the first. */
export interface NewsLane extends WaitingLane {
  readonly first: string;
}

/** What came in since the last look. */
export interface News {
  readonly lanes: readonly NewsLane[];
  readonly rescanNos: ReadonlyMap<string, string>;
  readonly look: Look;
  /** A job that came in waits for upkeep to give it a slot. */
  readonly isDue: boolean;
}

/** What a claim came to. */
export interface ClaimAnswer {
  readonly claims: Claim[];
  readonly held: ClosedLimit[];
  /** Their lane gave them, but not to the worker. */
  readonly late: RateLimited[];
  /** Candidates that a limit held back after they had been counted: the claim may have stopped because of them. */
  readonly cut: number;
  /** When the first of the late ones falls due. */
  readonly dueInMs: number | undefined;
  /** Jobs of the queue may start although something of theirs is paused: see claim-exceptions. */
  readonly hasExceptions: boolean;
  /** Behind the claim on the same line. Undefined, or resolves to it: there are none. */
  readonly news: Promise<News | undefined> | undefined;
}

/** Of a job that is run for the first time, as most are. */
const USUAL = { attempt: 1, crashes: 0, maxAttempts: 3 } as const;
/** What is usual, the lane of the first probe and the worker's first kind are left out: a null is cheap to write and to read. */
const CLAIM = prepared(`select id, lease_no, nullif(priority, $3[1]), nullif(tenant, $4[1]), nullif(kind, $7[1]), key,
    nullif(attempt, ${USUAL.attempt}), nullif(crashes, ${USUAL.crashes}), nullif(max_attempts, ${USUAL.maxAttempts}), payload, batch, timeout_ms, trace,
    held_back
  from fairmill.claim_lanes_v1($1, $2, $3, $4, $5, $6, $7, $8, durable => false, list_no => $9)`);
const NEWS = prepared("select * from fairmill.news_v1($1, $2, $3, $4, $5, $6, $7, $8)");
const FIRST_READY = prepared("select n, id from fairmill.first_ready_v1($1, $2, $3, $4, $5, $6)");
const LANES = prepared("select * from fairmill.lanes_v1($1, $2, $3, $4)");

interface NewsRow {
  queue: string | null;
  priority: number | null;
  tenant: string | null;
  weight: number | null;
  id: string | null;
  rescan_no: string | null;
  is_due: boolean | null;
  looked_from: string;
  looked_to: string;
  next_xid: string | null;
  next_running: number;
  still_running: number[];
}

/** The lanes of a queue with ready jobs, highest priority first, `lanesMax` at a time; rows are `WaitingLane`. */
export const lanesStatement = (queue: string, after: LaneName | undefined, lanesMax: number): Statement => [
  LANES,
  [queue, after?.priority ?? null, after?.tenant ?? null, lanesMax],
];

export function readLanes(
  db: Database,
  queue: string,
  after: LaneName | undefined,
  lanesMax: number,
): Promise<WaitingLane[]> {
  const [text, values] = lanesStatement(queue, after, lanesMax);
  return db.query<WaitingLane>(text, values);
}

/** In the order of the columns. */
export type ClaimRow = readonly [
  id: string | null,
  leaseNo: string,
  priority: string | null,
  tenant: string | null,
  kind: string | null,
  key: string | null,
  attempt: string | null,
  crashes: string | null,
  maxAttempts: string | null,
  payload: string,
  batch: string | null,
  timeoutMs: string | null,
  trace: string | null,
  heldBack: string | null,
];

const HELD_BACK = 13;

/** What limits held back: given in the last row alone, which is no job. */
interface HeldBack {
  limits: { scope: ClosedLimit["scope"]; name: string; why: ClosedLimit["why"]; open_in_ms: number | null }[];
  cut?: number;
  late?: [priority: number, tenant: string, count: number][];
  due_in_ms?: number;
  exceptions?: true;
}

/** The lane of the first probe, the worker's first kind, and what is the same for all rows. */
type Asked = Pick<Claim, "worker" | "queue" | "priority" | "tenant" | "kind" | "listNo">;

/** What a row leaves out is as it was asked for, or as usual. */
export function toClaim(row: ClaimRow, asked: Asked): Claim {
  const [id, leaseNo, priority, tenant, kind, key, attempt, crashes, maxAttempts, payload, batch, timeoutMs, trace] =
    row;
  return {
    id: id as string,
    leaseNo: Number(leaseNo),
    worker: asked.worker,
    queue: asked.queue,
    priority: numberOr(priority, asked.priority),
    tenant: tenant ?? asked.tenant,
    kind: kind ?? asked.kind,
    key,
    attempt: numberOr(attempt, USUAL.attempt),
    crashes: numberOr(crashes, USUAL.crashes),
    maxAttempts: numberOr(maxAttempts, USUAL.maxAttempts),
    payload: JSON.parse(payload),
    batch,
    timeoutMs: timeoutMs === null ? null : Number(timeoutMs),
    trace,
    listNo: asked.listNo,
  };
}

const numberOr = (text: string | null, usual: number): number => (text === null ? usual : Number(text));

const newsStatement = (
  queue: string,
  kinds: readonly string[],
  { tail, starts, bounds, running }: AskedOfIds,
  isThorough: boolean,
): Statement => [NEWS, [[queue], tail, starts, bounds, running, isThorough, kinds, LOOK_IDS]];

const firstReadyStatement = (queue: string, kinds: readonly string[], parts: readonly LanePart[]): Statement => [
  FIRST_READY,
  [
    queue,
    parts.map(({ priority }) => priority),
    parts.map(({ tenant }) => tenant),
    parts.map(({ low }) => low),
    parts.map(({ ceiling }) => ceiling),
    kinds,
  ],
];

/** Looks for news of one queue, and in the same round trip for the first ready job in parts of lanes: by number of the part. */
export async function readNews(
  db: Database,
  queue: string,
  kinds: readonly string[],
  asked: AskedOfIds,
  parts: readonly LanePart[],
): Promise<{ news: News; firsts: Map<number, string> }> {
  const statements = [newsStatement(queue, kinds, asked, true)];
  if (parts.length > 0) statements.push(firstReadyStatement(queue, kinds, parts));
  const [news, firsts] = await db.pipeline(statements);
  if (news!.status === "rejected") throw news!.reason;
  if (firsts?.status === "rejected") throw firsts.reason;
  return { news: toNews(news!.value as NewsRow[]), firsts: toFirsts(firsts?.value) };
}

/** By number of the part, the position of the first ready job. */
export async function readFirstReady(
  db: Database,
  queue: string,
  kinds: readonly string[],
  parts: readonly LanePart[],
): Promise<Map<number, string>> {
  const [text, values] = firstReadyStatement(queue, kinds, parts);
  return toFirsts(await db.query(text, values));
}

const toFirsts = (rows: unknown[] = []): Map<number, string> =>
  new Map((rows as { n: number; id: string }[]).map(({ n, id }) => [n - 1, id]));

/** Claims along the probes of one queue, and looks for news in the same round trip if there is something to ask. Resolves when the claim is answered. */
export async function claimAlong(
  db: Database,
  worker: string,
  queue: string,
  probes: readonly Probe[],
  kinds: readonly string[],
  jobsMax: number,
  listNo: number,
  newsOf: AskedOfIds | undefined,
): Promise<ClaimAnswer> {
  const claim: Statement = [
    CLAIM,
    [
      worker,
      probes.map(() => queue),
      probes.map((probe) => probe.priority),
      probes.map((probe) => probe.tenant),
      probes.map((probe) => probe.floor),
      probes.map((probe) => probe.quantum),
      kinds,
      jobsMax,
      listNo,
    ],
    "texts",
  ];
  const [claimed, news] = await db.pipelineEach(newsOf ? [claim, newsStatement(queue, kinds, newsOf, false)] : [claim]);
  const rows = (await claimed) as ClaimRow[];
  const told = heldBackOf(rows);
  const [{ priority, tenant }] = probes as readonly [Probe];
  const asked: Asked = { worker, queue, priority, tenant, kind: kinds[0]!, listNo };
  return {
    claims: rows.map((row) => toClaim(row, asked)),
    held: told.limits.map(({ scope, name, why, open_in_ms: openInMs }) => ({ scope, name, why, openInMs })),
    late: (told.late ?? []).map(([priority, tenant, count]) => ({ priority, tenant, count })),
    cut: told.cut ?? 0,
    dueInMs: told.due_in_ms,
    hasExceptions: told.exceptions === true,
    news: news?.then(
      (found) => toNews(found as NewsRow[]),
      () => undefined,
    ),
  };
}

/** Takes the row away that is no job, if there is one. */
function heldBackOf(rows: ClaimRow[]): HeldBack {
  const text = rows.at(-1)?.[HELD_BACK];
  if (text === undefined || text === null) return { limits: [] };
  rows.pop();
  return JSON.parse(text) as HeldBack;
}

function toNews(rows: readonly NewsRow[]): News {
  const lanes: NewsLane[] = [];
  const rescanNos = new Map<string, string>();
  let look: Look | undefined;
  let isDue = false;
  for (const row of rows) {
    if (row.queue === null) {
      look = {
        newest: row.id!,
        from: row.looked_from,
        to: row.looked_to,
        nextXid: row.next_xid ?? undefined,
        nextRunning: row.next_running,
        stillRunning: row.still_running,
      };
      isDue = row.is_due === true;
    } else if (row.tenant === null) rescanNos.set(row.queue, row.rescan_no!);
    else lanes.push({ priority: row.priority!, tenant: row.tenant, weight: row.weight!, first: row.id! });
  }
  return { lanes, rescanNos, look: look!, isDue };
}
