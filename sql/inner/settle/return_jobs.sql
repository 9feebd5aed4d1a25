-- The half of settle_v1 for jobs that wait for another turn: retry, snooze, release. Answers how many it changed, the
-- queues that got an old id back, and the keys of which a slot may have become free: a job that waits for its time
-- gives its slot up, except where slots are held from enqueue to end (refuse). A released job keeps it. A snooze that
-- names its waits is for signals (wait_until): where one has come in the meantime, the job is released.
-- A release puts the job back at once; but one that is released again and again within seconds waits longer each time,
-- from the fourth on:
-- 0.1 s, doubled up to a minute. released says how often, and why the last time (reason in the details): why_v1 tells
-- it. One that yields (in the details) leaves a process that ends, and goes on at its next step: it is not counted.
-- Locks: 8 job, 9 step (those that are free).
create or replace function fairmill.return_jobs(worker_id text, ids bigint[], leases bigint[], verdicts text[],
  details jsonb,
  out changed integer, out released text[], out freed text[])
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at timestamptz := clock_timestamp();
begin
  with waiting as (
    update fairmill.job j
    set (state, aside, run_at, slot, released) = (
          select case when waits.until is null then 'ready' else 'scheduled' end, case when waits.until is not null
            then 'scheduled' end,
            coalesce(waits.until, j.run_at),
            case when waits.until is null or j.slot is null then j.slot
                 when (select r.when_full from fairmill.key_limit r where r.kind = j.kind) = 'refuse' then j.slot end,
            case when v.verdict = 'release' and not coalesce(v.detail ? 'yields', false)
              then jsonb_strip_nulls(jsonb_build_object('times', waits.times, 'at', v_at, 'reason',
              v.detail -> 'reason')) end
          from (select again.times,
                       case when v.verdict = 'release' then
                              case when again.times > 3 and not coalesce(v.detail ? 'yields', false)
                                then v_at + least(60,
                                0.1 * 2 ^ least(again.times - 4, 12)) * interval '1 second' end
                            when v.verdict = 'snooze' and v.detail ? 'waits' then fairmill.wait_until(j.id, j.lease_no,
                              array(select jsonb_array_elements_text(v.detail -> 'waits')),
                                v_at + (v.detail ->> 'delay_ms')::float8 * interval '1 millisecond')
                            else v_at + coalesce((v.detail ->> 'delay_ms')::float8, 0) * interval '1 millisecond' end
                              as until
                from (select case when j.started_at < v_at - interval '10 seconds' then 1
                                  else coalesce((j.released -> 'times')::integer, 0) + 1 end as times offset 0) again
                                    offset 0) waits),
        attempt = case when v.verdict = 'retry' then j.attempt else j.attempt - 1 end,
        failures = case when v.verdict = 'retry' then fairmill.add_attempt(j.failures, fairmill.failure_entry(
          j.attempt, j.lease_no, j.worker, j.started_at, v_at, v.detail ->> 'outcome', v.detail -> 'error'))
            else j.failures end,
        worker = null, started_at = null
    from (select u.id, u.lease_no, u.verdict, details -> (u.n - 1)::integer as detail
          from unnest(ids, leases, verdicts) with ordinality as u (id, lease_no, verdict, n)) v
    where j.id = v.id and j.lease_no = v.lease_no and j.worker is not distinct from worker_id
      and v.verdict in ('retry', 'snooze', 'release')
    returning j.queue, j.state, case when j.state = 'scheduled' and j.slot is null then j.limit_key end as freed_key)
  select count(*), array_agg(distinct w.queue) filter (where w.state = 'ready'), array_agg(distinct w.freed_key)
    filter (where w.freed_key is not null)
    into changed, released, freed
  from waiting w;
end
$$;
