-- Moves scheduled jobs whose time has come on: to ready, or to blocked where they need a slot under their key. A job
-- that is blocked gets one by finish_transitions, which the caller calls last, with what this function answers.
-- Each gets its position in its lane from now on, in the order of the ids given: behind what is ready by now, before
-- what is stored later.
-- The caller has locked the jobs. Result: the queues in which a job became ready, the keys of which a job became
-- blocked.
-- Locks: none: the caller has 8 job.
create or replace function fairmill.admit_due(ids bigint[], out queues text[], out keys text[])
language plpgsql
as $$
#variable_conflict use_column
declare
  v_turns bigint[] := array(select nextval('fairmill.job_id_seq') from unnest(ids));
begin
  with due as (
    update fairmill.job j
    set turn_no = turn.no, (state, aside) = (
      -- A job that holds a slot keeps it: it was rate-limited, or slots of its kind are held from enqueue to end.
      select coalesce(must.wait, 'ready'), must.wait
      from (select case when j.limit_key is not null and j.slot is null and exists (
              select from fairmill.key_limit_in_force r where r.kind = j.kind and r.max_running is not null)
                then 'blocked' end as wait) must)
    from unnest(ids, v_turns) as turn (id, no)
    -- Said in this way it fits the primary key alone: by the index on scheduled jobs every id would be a walk along all
    -- of them.
    where j.id = turn.id and j.state is not distinct from 'scheduled'
    returning j.queue, j.state, j.limit_key)
  select coalesce(array_agg(distinct d.queue) filter (where d.state = 'ready'), '{}'),
         coalesce(array_agg(distinct d.limit_key) filter (where d.state = 'blocked'), '{}')
    into queues, keys
  from due d;
end
$$;
