// The functions of the outbox as the tests call them.
import type pg from "pg";
import type { Asker } from "./calls.js";

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
