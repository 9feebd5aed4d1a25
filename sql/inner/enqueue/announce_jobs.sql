-- Tells workers of jobs that were just stored.
--   wake    tell sleeping workers which queues have work, and when the first delayed job falls due
--   due_ms  in how many milliseconds upkeep has something to do for a job that was replaced; null: nothing
-- A job that still needs its slot is promoted at once, and only this function knows of it. In a transaction of the
-- caller that is told to workers that are awake, too: when a long transaction commits, its ids are old, and no worker
-- would look for them.
create or replace function fairmill.announce_jobs(jobs fairmill.new_job[], wake boolean, alone boolean, due_ms float8)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_queues     text[];
  v_due_ms     float8;
  v_needs_slot boolean;
begin
  select array_agg(distinct j.queue) filter (where wake and j.state = 'ready'),
    least(announce_jobs.due_ms, min(greatest(extract(epoch from j.run_at - now()) * 1000, 0))
      filter (where j.state = 'scheduled' and (wake or j.run_at <= now()))),
    coalesce(bool_or(j.state = 'scheduled' and j.run_at <= now()), false)
    into v_queues, v_due_ms, v_needs_slot
  from unnest(jobs) as j where j.conflict is null and j.refusal is null;
  perform fairmill.wake_v1(v_queues, v_due_ms);
  if (v_needs_slot and not alone or announce_jobs.due_ms <= 0)
      and exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > now()) then
    perform pg_notify('fairmill', '!due 0');
  end if;
end
$$;
