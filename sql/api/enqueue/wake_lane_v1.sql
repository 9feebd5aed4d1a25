-- Signals sleeping workers that a lane has work: as wake_v1, and the notification names the lane, so that a worker
-- claims from it in the round trip in which it hears, without a look at all lanes before. Sends nothing when no worker
-- listens to the queue.
--   queue, priority, tenant  the lane in which jobs became ready, each in a transaction that ended with its enqueue:
--                            of others, whose ids may be old, say wake_v1
-- Locks: none.
create or replace function fairmill.wake_lane_v1(queue text, priority integer, tenant text)
returns void
language plpgsql
as $$
#variable_conflict use_variable
begin
  perform pg_notify('fairmill', '!lane ' || json_build_array(queue, priority, tenant))
  where exists (select from fairmill.worker w
                where w.listening and w.state = 'alive' and w.lease_until > now() and queue = any (w.queues));
end
$$;
