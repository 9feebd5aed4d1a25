-- The part of a settle for messages whose job waits for another turn: what the attempt came to. A message that was
-- certainly not delivered is pending again; about any other the next attempt is uncertain. The caller is settle_v1, in
-- whose transaction the job goes back: either both are written or none.
--   worker_id, ids, leases, verdicts, details  as settle_v1 has them; details of such a job may have delivery: outcome,
--                                              error
-- Locks: 10 message.
-- Plan expected: nested loops from the arrays to the primary keys of job and outbox.
create or replace function fairmill.record_sends(worker_id text, ids bigint[], leases bigint[], verdicts text[],
  details jsonb)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.outbox o
  set status = case when said.delivery ->> 'outcome' = 'refused' then 'pending' else o.status end,
    attempts = fairmill.close_attempt(o.attempts, said.delivery)
  from (
    select j.outbox, details -> (v.n - 1)::integer -> 'delivery' as delivery
    from unnest(ids, leases, verdicts) with ordinality as v (id, lease_no, verdict, n)
    cross join lateral (
      select x.outbox from fairmill.job x
      where x.id = v.id and x.lease_no = v.lease_no and x.worker is not distinct from worker_id
        and x.outbox is not null offset 0) j
    where v.verdict in ('retry', 'snooze', 'release')) said
  where o.id = said.outbox and said.delivery is not null and o.status is not distinct from 'sending';
end
$$;
