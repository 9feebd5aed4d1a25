-- Cancels live jobs by their ids: what waits ends, what runs is told, as cancel_v1 does with one. Result: how many (the
-- others had ended, or were told before), and what the caller passes on to finish_transitions.
-- Locks: 8 job, then as end_jobs.
create or replace function fairmill.cancel_jobs(ids bigint[], out changed integer,
  out queues text[], out keys text[], out members jsonb, out revived jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_waiting bigint[];
  v_running bigint[];
  v_workers text[];
begin
  with locked as (
    select j.id, j.state from fairmill.job j
    where j.id = any (ids) and j.cancel_requested_at is null
    order by j.id for update)
  select coalesce(array_agg(l.id order by l.id) filter (where l.state <> 'running'), '{}'),
    coalesce(array_agg(l.id) filter (where l.state = 'running'), '{}')
    into v_waiting, v_running
  from locked l;
  with told as (
    update fairmill.job j set cancel_requested_at = clock_timestamp() where j.id = any (v_running) returning j.worker)
  select array_agg(distinct t.worker) into v_workers from told t;
  perform pg_notify('fairmill', '!cancel ' || w.name) from unnest(v_workers) as w (name);
  select e.freed, e.members into keys, members
  from fairmill.end_jobs(v_waiting, array_fill('cancelled'::text, array[cardinality(v_waiting)])) e;
  changed := cardinality(v_waiting) + cardinality(v_running);
end
$$;
