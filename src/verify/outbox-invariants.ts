// Invariants of the outbox: a message is open exactly while something carries it out, was taken once, and goes out in its order.
import type { Invariant } from "./invariant.js";

export const OUTBOX_INVARIANTS: readonly Invariant[] = [
  {
    id: "I4",
    sentence:
      "a message is open exactly while its delivery job is live or it waits for its turn, and the two know each other",
    walk: "outbox",
    query: `select o.id from fairmill.outbox o left join fairmill.job j on j.id = o.job_id and j.outbox = o.id
      where o.id > $1 and ($2::bigint is null or o.id <= $2) and (o.ended_at is null) <> (j.id is not null or o.waiting is not null)`,
  },
  {
    id: "I4",
    sentence: "a delivery job is that of a message, which names it",
    walk: "job",
    query: `select j.id from fairmill.job j
      where j.id > $1 and ($2::bigint is null or j.id <= $2) and j.outbox is not null
        and not exists (select from fairmill.outbox o where o.id = j.outbox and o.job_id = j.id)`,
  },
  {
    id: "I4",
    sentence: "a message that was sent is over, and no message was taken twice",
    walk: "outbox",
    query: `select o.id from fairmill.outbox o
      where o.id > $1 and ($2::bigint is null or o.id <= $2)
        and (o.status = 'sent' and o.ended_at is null
          or (select count(*) from jsonb_array_elements(o.attempts) a where a ->> 'outcome' = 'sent') > 1)`,
  },
  {
    id: "order",
    sentence: "of messages in order one is under way",
    walk: "outbox",
    query: `select o.id from fairmill.outbox o
      where o.id > $1 and ($2::bigint is null or o.id <= $2) and o.order_key is not null and o.ended_at is null and o.waiting is null
        and exists (select from fairmill.outbox x where x.tenant = o.tenant and x.channel = o.channel and x.order_key = o.order_key
          and x.ended_at is null and x.waiting is null and x.id <> o.id)`,
  },
  {
    id: "order",
    sentence: "a message that waits for its turn is found: by the end of the one before it, or by the mark that it has",
    walk: "outbox",
    query: `select w.id from fairmill.outbox w
      where w.id > $1 and ($2::bigint is null or w.id <= $2) and w.waiting is not null
        and not exists (select from fairmill.outbox m where m.tenant = w.tenant and m.channel = w.channel and m.order_key = w.order_key
          and m.waiting is not null and m.recheck)
        and not exists (select from fairmill.outbox o where o.tenant = w.tenant and o.channel = w.channel and o.order_key = w.order_key
          and o.ended_at is null and o.waiting is null)`,
  },
];
