-- A worker ends. What it still holds is released without spending an attempt; normally that is nothing.
-- Result: how many were released.
-- Locks: 4 worker (the caller's own), then as release_unknown_v1.
create or replace function fairmill.stop_worker_v1(worker_id text)
returns integer
language plpgsql
as $$
declare
  v_released integer;
begin
  -- The worker first, then its jobs and the marks of their queues: recovery goes this way too.
  update fairmill.worker w set state = 'stopped', ended_at = clock_timestamp(), listening = false
  where w.id = worker_id and w.state = 'alive';
  v_released := fairmill.release_unknown_v1(worker_id, '{}');
  return v_released;
end
$$;
