-- Enqueues the job of a schedule now, by hand: no tick, and the next one stays as it is.
-- Result: as enqueue_many_v1 with partial; no row when there is no such schedule.
-- Locks: as enqueue_many_v1.
create or replace function fairmill.run_schedule_v1(name text)
returns table (id bigint, created boolean, conflict text, refused jsonb)
language sql
as $$
  select e.* from fairmill.schedule s
  cross join lateral fairmill.enqueue_many_v1(jsonb_build_array(s.job), '{}', wake => true, alone => true,
    partial => true) e
  where s.name = run_schedule_v1.name
$$;
