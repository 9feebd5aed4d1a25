-- Which of these batches take more members, locked so that none of them ends before this transaction does. A batch that
-- is over, or is being cancelled, takes no more.
-- Locks: 13 batch. Taken first of all by everything that enqueues, as a session that ends a batch takes its lock before
-- it enqueues the callbacks.
-- Plan expected: the primary key of batch.
create or replace function fairmill.open_batches(batches bigint[])
returns bigint[]
language sql
as $$
  with locked as (
    select b.id, b.state, b.cancel_requested_at from fairmill.batch b where b.id = any (batches)
    order by b.id for key share)
  select coalesce(array_agg(l.id), '{}')
  from locked l
  where l.state = 'pending' and l.cancel_requested_at is null
$$;
