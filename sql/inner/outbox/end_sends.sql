-- Ends the messages of delivery jobs that ended, in the transaction that ends the job, for every way a job ends: a
-- message has its end exactly when its job has. It is sent where the job is done. Where it is not, it is unknown if an
-- attempt to send may have arrived, else skipped (cancelled) or failed (dead). Then the next message of the order key
-- becomes its head, and the job that the channel defines for the end of a message is enqueued (enqueue_ends).
--   rows, states  of the jobs that ended: job.outbox, and the state each ended in
--   details       null, or an array beside rows: the details of settle_v1; delivery has outcome (sent | refused |
--                 uncertain), answer, error
-- Locks: 10 message (and the next of their order keys). Never waits for a transaction of a caller.
-- Plan expected: a probe of the primary key of outbox per row.
create or replace function fairmill.end_sends(rows bigint[], states text[], details jsonb default null)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at       timestamptz := clock_timestamp();
  v_ended    bigint[];
  v_tenants  text[];
  v_channels text[];
  v_keys     text[];
begin
  with ended as (
    update fairmill.outbox o
    set status = case
        when given.state = 'done' or given.said ->> 'outcome' = 'sent' then 'sent'
        -- What the attempt itself says goes before what the row says: it was sending until now.
        when coalesce(given.said ->> 'outcome', case when o.status = 'sending' then 'uncertain' end) = 'uncertain'
          then 'unknown'
        when given.state = 'cancelled' then 'skipped' else 'failed' end,
      attempts = fairmill.close_attempt(o.attempts, given.said), answer = coalesce(given.said -> 'answer', o.answer),
      ended_at = v_at
    from (
      select u.id, u.state, nullif(details -> (u.n - 1)::integer -> 'delivery', 'null') as said
      from unnest(rows, states) with ordinality as u (id, state, n)) given
    where o.id = given.id and o.status in ('pending', 'sending')
    returning o.id, o.tenant, o.channel, o.order_key)
  select array_agg(e.tenant) filter (where e.order_key is not null),
    array_agg(e.channel) filter (where e.order_key is not null),
    array_agg(e.order_key) filter (where e.order_key is not null),
    array_agg(e.id)
    into v_tenants, v_channels, v_keys, v_ended
  from ended e;
  if v_ended is not null and exists (select from fairmill.channel_end) then
    perform fairmill.enqueue_ends(v_ended);
  end if;
  if v_keys is not null then
    perform fairmill.start_next_messages(v_tenants, v_channels, v_keys);
  end if;
end
$$;
