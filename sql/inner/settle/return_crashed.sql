-- Gives jobs back whose process died while it ran them, each counted and recorded as a crash. Says which of them must
-- end instead: one that its caller asked to cancel, and one that was being run when too many processes died.
--   ids      the jobs, which the caller has locked;  crashes_max: after this many crashes a job is poison
--   reasons  null: their worker died; else by id why the process ended: their supervisor lives and says so
-- Result: how many are ready again and in which queues; and for end_jobs (crashed => true) the others, with states and
-- details.
-- Locks: 8 job.
-- Plan expected: the jobs by the primary key.
create or replace function fairmill.return_crashed(ids bigint[], crashes_max integer, reasons jsonb default null,
  out recovered integer, out queues text[], out ended_ids bigint[], out states text[], out details jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at   timestamptz := clock_timestamp();
  v_back bigint[];   -- ready again
begin
  select coalesce(array_agg(h.id) filter (where not h.ends), '{}'),
         array_agg(distinct h.queue) filter (where not h.ends),
         array_agg(h.id order by h.id) filter (where h.ends), array_agg(h.state order by h.id) filter (where h.ends),
         jsonb_agg(h.detail order by h.id) filter (where h.ends)
    into v_back, queues, ended_ids, states, details
  from (select j.id, j.queue, j.cancel_requested_at is not null or j.crashes + 1 >= crashes_max as ends,
          case when j.cancel_requested_at is null then 'dead' else 'cancelled' end as state,
          jsonb_build_object('reason', reasons -> j.id::text) || case when j.cancel_requested_at is null
            then jsonb_build_object('error', jsonb_build_object('code', 'FAIRMILL_POISON',
              'message', 'The job was being run when its worker died, ' || crashes_max || ' times.'))
            else '{}' end as detail
        from fairmill.job j where j.id = any (ids)) h;
  update fairmill.job j
  set state = 'ready', worker = null, started_at = null, crashes = j.crashes + 1,
      failures = fairmill.add_attempt(j.failures,
        fairmill.crash_entry(j.attempt, j.lease_no, j.worker, j.started_at, v_at, reasons ->> j.id::text))
  where j.id = any (v_back);
  recovered := cardinality(v_back);
end
$$;
