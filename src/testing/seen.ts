// What a test sees afterwards: jobs and messages that are there, and what one run left behind.
import type { ErrorRecord } from "../base/error-record.js";
import type { Client } from "../client/client.js";
import type { JobState } from "../core/job/states.js";
import type { Database } from "../db/database.js";
import type { Job } from "../jobs/read-jobs.js";
import type { LogLine } from "../logs/log-page.js";
import type { JobStep } from "../steps/step-statements.js";

/** A job as tests ask for it. */
export interface SeenJob {
  readonly id: string;
  readonly kind: string;
  readonly input: unknown;
  readonly tenant: string;
  readonly queue: string;
  readonly key: string | null;
  readonly tags: readonly string[];
  readonly state: JobState;
  readonly runAt: Date | null;
}

export interface SeenMessage {
  readonly id: string;
  readonly channel: string;
  readonly payload: unknown;
  readonly tenant: string;
  readonly idempotencyKey: string;
  readonly status: string;
}

/** One attempt of one job, and all that it brought about. */
export interface SeenRun<Result = unknown> {
  readonly id: string;
  /** Where the job is now: "done"; "scheduled" when it sleeps, waits or is to be tried again; "dead", "cancelled"; "ready" or "blocked" when it did not run. */
  readonly state: JobState;
  readonly attempt: number;
  /** What the handler returned. */
  readonly result: Result | undefined;
  /** Why the last attempt failed. */
  readonly error: ErrorRecord | undefined;
  readonly enqueued: readonly SeenJob[];
  readonly published: readonly SeenMessage[];
  readonly steps: readonly JobStep[];
  readonly logs: readonly LogLine[];
}

/** Everything before this is older. */
export interface Mark {
  readonly job: bigint;
  readonly message: bigint;
}

const DELIVERY = /^fairmill\./;
const PAGE = 200;
const MARK = `
  select greatest((select max(id) from fairmill.job), (select max(id) from fairmill.job_history), 0)::text as job,
    coalesce((select max(id) from fairmill.outbox), 0)::text as message`;

export const START: Mark = { job: 0n, message: 0n };

export async function markNow(db: Database): Promise<Mark> {
  const [row] = await db.query<{ job: string; message: string }>(MARK);
  return { job: BigInt(row?.job ?? 0), message: BigInt(row?.message ?? 0) };
}

/** Jobs that were enqueued after the mark, oldest first. Deliveries of messages are Fairmill's own. */
export async function jobsSince(client: Client, { job }: Mark): Promise<SeenJob[]> {
  const all = await pagesSince((before) => client.jobs.list({ limit: PAGE, ...(before && { before }) }), job);
  return all.filter(({ kind }) => !DELIVERY.test(kind)).map(seenJob);
}

export async function messagesSince(client: Client, { message }: Mark): Promise<SeenMessage[]> {
  const all = await pagesSince((before) => client.outbox.list({ limit: PAGE, ...(before && { before }) }), message);
  const details = await Promise.all(all.map(({ id }) => client.outbox.get(id)));
  return details
    .filter((detail) => detail !== undefined)
    .map(({ id, channel, payload, tenant, idempotencyKey, status }) => ({
      ...{ id, channel, payload, tenant, idempotencyKey, status },
    }));
}

async function pagesSince<Row extends { readonly id: string }>(
  page: (before: string | undefined) => Promise<Row[]>,
  after: bigint,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const next = await page(rows.at(-1)?.id);
    const newer = next.filter(({ id }) => BigInt(id) > after);
    rows.push(...newer);
    if (newer.length < PAGE) return rows.reverse();
  }
}

const seenJob = ({ id, kind, payload, tenant, queue, key, tags, state, runAt }: Job): SeenJob => ({
  ...{ id, kind, input: payload, tenant, queue, key, tags, state, runAt },
});
