-- Tells sleeping workers that one of these queues has work, or that a scheduled job falls due soon. Sends nothing when
-- nobody listens: a notification takes a lock that serialises commits, so it is sent only where it shortens somebody's
-- wait. Polling finds the work in any case.
--   queues     queues in which jobs became ready
--   due_in_ms  a job becomes due in so many milliseconds; workers look by themselves every few seconds
create or replace function fairmill.wake_v1(queues text[], due_in_ms float8 default null)
returns void
language plpgsql
as $$
#variable_conflict use_variable
begin
  perform pg_notify('fairmill', q.name)
  from unnest(queues) as q (name)
  where exists (select from fairmill.worker w
                where w.listening and w.state = 'alive' and w.lease_until > now() and q.name = any (w.queues));
  if due_in_ms < 10000 then
    perform pg_notify('fairmill', '!due ' || ceil(due_in_ms)::bigint)
    where exists (select from fairmill.worker w where w.listening and w.state = 'alive' and w.lease_until > now());
  end if;
end
$$;
