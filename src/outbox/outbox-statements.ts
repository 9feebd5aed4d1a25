// The statements about the outbox: publishing, saying that a message is about to be sent, reading, resolving.

import type { ErrorRecord } from "../base/error-record.js";
import { compareIds } from "../base/job-id.js";
import type { Claim } from "../core/job/claim.js";
import type { Database } from "../db/database.js";
import { type Refusal, toError } from "../db/refusals.js";
import { idOf, idOrNull, type RowId, type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import type { Begun } from "./delivery.js";
import type { NewMessage, Published } from "./publish-options.js";

export const MESSAGE_STATUSES = ["pending", "sending", "sent", "failed", "skipped", "unknown"] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

/** One attempt to send, or one resolution by an operator. */
export interface DeliveryAttempt {
  readonly at: string;
  /** sent, refused (it certainly did not arrive), uncertain, resolved; missing: the worker that sent it did not report. */
  readonly outcome?: "sent" | "refused" | "uncertain" | "resolved";
  readonly worker?: string;
  readonly leaseNo?: number;
  readonly run?: string;
  readonly error?: Pick<ErrorRecord, "name" | "message" | "code">;
  /** Of a resolution: the outcome, the operator and the reason. */
  readonly as?: "sent" | "failed" | "resend";
  readonly by?: string;
  readonly reason?: string;
  /** This many attempts before this one are not kept; missing: none. */
  readonly dropped?: number;
}

/** A message in the outbox. */
export interface Message {
  readonly id: string;
  readonly tenant: string;
  readonly channel: string;
  readonly idempotencyKey: string;
  readonly orderKey: string | null;
  readonly status: MessageStatus;
  /** The job that delivers it; null: it waits for its turn. */
  readonly jobId: string | null;
  /** How many are on record. */
  readonly attempts: number;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

export interface MessageDetail extends Omit<Message, "attempts"> {
  readonly payload: unknown;
  readonly answer: unknown;
  readonly attempts: readonly DeliveryAttempt[];
}

export interface MessageFilter {
  readonly status?: MessageStatus;
  readonly channel?: string;
  readonly tenant?: string;
  /** Only older ones: the last id of the page before. Default: from the newest. */
  readonly before?: string;
  /** Page size, at most 200; default 50. */
  readonly limit?: number;
}

export type ResolveAnswer = "resolved" | "known" | "open" | "order_busy" | "not_found";

export const MESSAGES_MAX = 200;
/** The largest id that there can be. */
const NEWEST = "9223372036854775807";

const PUBLISH =
  "select id::text as id, created, refused::text as refused from fairmill.publish_many_v1($1, '{}', wake => true)";
const BEGIN = `select job_id as "jobId", answer, message_id as "messageId", idempotency_key as "idempotencyKey", payload, tries, since_ms as "sinceMs"
  from fairmill.begin_sends_v1($1, $2, $3, $4, $5)`;
const COLUMNS = `id, tenant, channel, idempotency_key as "idempotencyKey", order_key as "orderKey", status, job_id as "jobId",
  created_at as "createdAt", ended_at as "endedAt"`;
const DETAIL = `select ${COLUMNS}, payload, answer, attempts from fairmill.outbox where id = $1`;
const LIST = `select ${COLUMNS}, jsonb_array_length(attempts) + coalesce(jsonb_path_query_first(attempts, '$[*].dropped')::integer, 0) as attempts from fairmill.outbox
  where id < $1 and ($2::text is null or status = $2) and ($3::text is null or channel = $3) and ($4::text is null or tenant = $4)
  order by id desc limit $5`;
const RESOLVE = "select fairmill.resolve_delivery_v1($1, $2, $3, $4) as answer";

/** Stores messages and their delivery jobs: all of them or none. */
export async function publishMessages(db: Session, messages: readonly NewMessage[]): Promise<Published[]> {
  type Answer = { id: string | null; created: boolean; refused: string | null };
  const answers = await db.query<Answer>(PUBLISH, [messagesText(messages)]);
  for (const { refused } of answers) {
    const refusal = refused === null ? undefined : (JSON.parse(refused) as Refusal | Record<string, never>);
    if (refusal && "code" in refusal) throw toError(refusal as Refusal);
  }
  return answers.map(({ id, created }) => ({ id: id!, created }));
}

/** Messages as publish_many_v1 takes them. */
export const messagesText = (messages: readonly NewMessage[]): string => `[${messages.map(textOf).join(",")}]`;

/** The payload is JSON text already, and is not read and written once more: its numbers stay as they are. */
function textOf({ payload, ...message }: NewMessage): string {
  const fields = JSON.stringify({
    channel: message.channel,
    tenant: message.tenant,
    idempotency_key: message.idempotencyKey,
    order_key: message.orderKey,
    reference: message.reference,
    queue: message.queue,
    priority: message.priority,
    max_attempts: message.attemptsMax,
    expire_ms: message.expireMs,
    key: message.key,
    run_at: message.runAt,
    delay_ms: message.delayMs,
    trace: message.trace,
  });
  return `{"payload":${payload},${fields.slice(1)}`;
}

export interface BeginItem {
  readonly claim: Claim;
  /** A text that no other run has. */
  readonly run: string;
  readonly resend: boolean;
}

export type BeginAnswer = Omit<Begun, "askedAtMs" | "answer"> & { readonly answer: Begun["answer"] | "busy" };

/** Records durably that these jobs of one worker begin to send. Answers each by its index. Safe to repeat. */
export async function beginSends(db: Database, worker: string, items: readonly BeginItem[]): Promise<BeginAnswer[]> {
  // By id, like every session that locks several jobs.
  const sorted = items.toSorted((a, b) => compareIds(a.claim.id, b.claim.id));
  const rows = await db.query<BeginAnswer & { jobId: string }>(BEGIN, [
    worker,
    sorted.map(({ claim }) => claim.id),
    sorted.map(({ claim }) => claim.leaseNo),
    sorted.map(({ run }) => run),
    sorted.map(({ resend }) => resend),
  ]);
  const byJob = new Map(rows.map((row) => [row.jobId, row]));
  return items.map(({ claim }) => byJob.get(claim.id)!);
}

type Row<Read extends Message | MessageDetail> = Omit<Read, "id" | "jobId" | "createdAt" | "endedAt"> & {
  id: RowId;
  jobId: RowId | null;
  createdAt: RowTime;
  endedAt: RowTime | null;
};

const fieldsOf = (row: Pick<Row<Message>, "id" | "jobId" | "createdAt" | "endedAt">) => ({
  id: idOf(row.id),
  jobId: idOrNull(row.jobId),
  createdAt: timeOf(row.createdAt),
  endedAt: timeOrNull(row.endedAt),
});

/** A page of messages, newest first. */
export async function readMessages(db: Session, filter: MessageFilter & { limit: number }): Promise<Message[]> {
  const rows = await db.query<Row<Message>>(LIST, [
    filter.before ?? NEWEST,
    filter.status ?? null,
    filter.channel ?? null,
    filter.tenant ?? null,
    filter.limit,
  ]);
  return rows.map((row) => ({ ...row, ...fieldsOf(row) }));
}

export async function readMessage(db: Session, id: string): Promise<MessageDetail | undefined> {
  type Attempt = DeliveryAttempt & { lease_no?: number };
  const [row] = await db.query<Omit<Row<MessageDetail>, "attempts"> & { attempts: Attempt[] }>(DETAIL, [id]);
  if (row === undefined) return undefined;
  const attempts = row.attempts.map(({ lease_no, ...attempt }) =>
    lease_no === undefined ? attempt : { ...attempt, leaseNo: lease_no },
  );
  return { ...row, ...fieldsOf(row), attempts };
}

export async function resolveMessage(
  db: Session,
  id: string,
  verdict: "sent" | "failed" | "resend",
  by: string | undefined,
  reason: string | undefined,
): Promise<ResolveAnswer> {
  const [row] = await db.query<{ answer: ResolveAnswer }>(RESOLVE, [id, verdict, by ?? null, reason ?? null]);
  return row!.answer;
}
