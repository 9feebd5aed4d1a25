-- Prolongs a worker's lease, by the database's clock. One row is touched, however many jobs the worker holds.
-- Result: alive, false when the worker was declared lost (its jobs are given to other workers) and must register again;
-- cancelled, the ids of its running jobs with a cancel request.
-- Locks: 4 worker (the caller's own).
create or replace function fairmill.heartbeat_v1(worker_id text, lease interval default '15 seconds',
  stats jsonb default null, out alive boolean, out cancelled bigint[])
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.worker w
  set beat_at = clock_timestamp(), lease_until = clock_timestamp() + lease,
    stats = coalesce(heartbeat_v1.stats, w.stats)
  where w.id = worker_id and w.state = 'alive';
  alive := found;
  cancelled := array(
    select j.id from fairmill.job j where j.cancel_requested_at is not null and j.worker = worker_id);
end
$$;
