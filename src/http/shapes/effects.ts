// Messages and accounts.
import { anyJson, id, list, named, number, object, oneOf, text, time } from "../schema.js";
import { count, maybe } from "./common.js";
import { errorRecord } from "./jobs.js";

const messageMembers = {
  id,
  tenant: text,
  channel: text,
  idempotencyKey: text,
  orderKey: maybe(text),
  status: oneOf("pending", "sending", "sent", "failed", "skipped", "unknown"),
  jobId: maybe(id),
  createdAt: time,
  endedAt: maybe(time),
};
export const messageRow = named("MessageRow", object({ ...messageMembers, attempts: number }));
export const messageDetail = named(
  "MessageDetail",
  object({
    ...messageMembers,
    payload: anyJson,
    answer: anyJson,
    nextAttemptAt: maybe(time),
    attempts: list(
      object({
        at: text,
        outcome: maybe(text),
        worker: maybe(text),
        error: maybe(errorRecord),
        as: maybe(text),
        by: maybe(text),
        reason: maybe(text),
        dropped: number,
      }),
    ),
  }),
);
export const channelRow = named(
  "ChannelRow",
  object({
    channel: text,
    open: count,
    unknown: count,
    failed: count,
    oldestOpenAt: maybe(time),
    lagMs: maybe(number),
  }),
);

const accountMembers = { account: text, available: number, reserved: number, createdAt: time };
export const accountRow = named("AccountRow", object(accountMembers));
export const accountDetail = named(
  "AccountDetail",
  object({ ...accountMembers, burnPerDay: maybe(number), daysLeft: maybe(number) }),
);
export const creditEntry = named(
  "CreditEntry",
  object({
    id,
    kind: oneOf("grant", "reservation", "capture", "release", "refund"),
    amount: number,
    returned: number,
    jobId: maybe(id),
    reason: maybe(text),
    createdAt: time,
  }),
);
