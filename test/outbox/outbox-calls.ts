// The functions of the outbox as the tests call them.
import type pg from "pg";
import { type Asker, type Claimed, claim } from "../support/sql/calls.js";

export interface Published extends pg.QueryResultRow {
  readonly id: string | null;
  readonly created: boolean;
  readonly refused: { readonly [fact: string]: unknown } | null;
}

export interface Attempt {
  readonly worker?: string;
  readonly lease_no?: number;
  readonly outcome?: string;
  readonly error?: { readonly message: string };
  readonly [fact: string]: unknown;
}

export interface Message extends pg.QueryResultRow {
  readonly id: string;
  readonly status: string;
  readonly job_id: string | null;
  readonly attempts: readonly Attempt[];
  readonly answer: unknown;
  readonly ended_at: Date | null;
}

/** Messages of channel "mail" with the key "a", unless they say otherwise. */
export const publish = (ask: Asker, messages: readonly object[]): Promise<Published[]> =>
  ask.query<Published>("select id, created, refused from fairmill.publish_many_v1($1, $2)", [
    JSON.stringify(messages),
    JSON.stringify({ channel: "mail", idempotency_key: "a" }),
  ]);

export const messageOf = async (ask: Asker, id: string): Promise<Message> =>
  (await ask.query<Message>("select * from fairmill.outbox where id = $1", [id]))[0]!;

export const statusesOf = async (ask: Asker): Promise<string[]> =>
  (await ask.query<{ status: string }>("select status from fairmill.outbox order by id")).map(({ status }) => status);

/** One message with a key of its own; returns its id. */
export async function publishOne(ask: Asker, message: object = {}): Promise<string> {
  const [made] = await publish(ask, [message]);
  return made!.id!;
}

/** Registers a worker that lives for an hour and claims delivery jobs. */
export async function claimDeliveries(ask: Asker, worker: string, jobsMax = 10): Promise<Claimed[]> {
  await ask.query(
    "insert into fairmill.worker (id, queues, lease_until) values ($1, '{outbox}', now() + interval '1 hour') on conflict do nothing",
    [worker],
  );
  return claim(ask, worker, jobsMax, { queue: "outbox" });
}

export interface Begun extends pg.QueryResultRow {
  readonly job_id: string;
  readonly answer: "send" | "uncertain" | "over" | "busy" | "lost";
  readonly message_id: string | null;
  readonly idempotency_key: string | null;
  readonly payload: unknown;
  readonly tries: number | null;
  readonly since_ms: number | null;
}

export const begin = (
  ask: Asker,
  worker: string,
  jobs: readonly { readonly id: string; readonly lease_no: string }[],
  resend = false,
  run = "first run",
): Promise<Begun[]> =>
  ask.query<Begun>("select * from fairmill.begin_sends_v1($1, $2, $3, $4, $5) order by job_id", [
    worker,
    jobs.map((job) => job.id),
    jobs.map((job) => job.lease_no),
    jobs.map(() => run),
    jobs.map(() => resend),
  ]);

export const answersOf = async (begun: Promise<readonly Begun[]>): Promise<string[]> =>
  (await begun).map(({ answer }) => answer);
