-- Puts the next dead (or cancelled) jobs that fit a filter back into the queue, in the order of their ids, as retry_v1
-- does with one.
--   filter    as pick_dead reads it; '{}' means every dead job
--   jobs_max  redrives at most this many;  after_id: begins behind this id
-- Result: how many were redriven, how many were looked at, the id to go on behind, and whether there may be more: call
-- it again with after_id => last_id, in a transaction of its own, until more is false. A call looks at a bounded number
-- of jobs, also when none fits.
-- Deliveries whose fate is unknown are left alone. Jobs that another session is redriving are skipped: concurrent calls
-- share the work, and repeating one is safe.
-- Locks: 7 ended job (those that are free), then as revive, then as finish_transitions.
create or replace function fairmill.redrive_v1(filter jsonb, jobs_max integer default 500, after_id bigint default 0,
  out redriven integer, out seen integer, out last_id bigint, out more boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_looks_max constant integer := 10000;
  v_ids       bigint[];
  v_ends      timestamptz[];
  v_back      record;
begin
  select p.ids, p.ends, p.seen, p.last_id, p.more into v_ids, v_ends, seen, last_id, more
  from fairmill.pick_dead(filter, jobs_max, v_looks_max, after_id) p;
  -- A job that was revived since the look is gone from the history, and is left alone.
  select array_agg(held.id), array_agg(held.ended_at) into v_ids, v_ends
  from (
    select h.id, h.ended_at from unnest(v_ids, v_ends) as picked (id, ended_at)
    join fairmill.job_history h on h.id = picked.id and h.ended_at = picked.ended_at
    for update of h skip locked) held;
  redriven := 0;
  if v_ids is not null then
    select * into v_back from fairmill.revive(v_ids, v_ends);
    redriven := cardinality(v_back.brought);
    perform fairmill.finish_transitions(v_back.queues, v_back.keys, revived => v_back.members);
  end if;
end
$$;
