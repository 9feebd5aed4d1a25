-- Signals sleeping workers that one of these queues has work, or that a delayed job is due soon. Sends nothing when
-- no worker listens: a notification takes a lock that serialises commits, so it is sent only where it shortens a
-- wait. Polling finds the work in any case.
--   queues     queues in which jobs became ready
--   due_in_ms  a job becomes due in this many milliseconds; workers poll every few seconds in any case
-- Locks: none.
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
