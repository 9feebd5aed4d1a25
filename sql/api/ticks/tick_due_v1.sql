-- Whether a tick would find something to do now (see next_due_v1). For the statement of a database cron, so that an
-- idle project makes no call at all:  select net.http_post(…) where fairmill.tick_due_v1()
--   queue_names  only jobs of these queues count as ready; null: all
-- Result: true or false.
-- Locks: none.
create or replace function fairmill.tick_due_v1(queue_names text[] default null)
returns boolean
language plpgsql stable
as $$
begin
  return coalesce(fairmill.next_due_v1(queue_names) <= now(), false);
end
$$;
