-- Runs jobs again by their ids: ended ones come back as redrive_v1 brings them, scheduled ones are due now. All have
-- ended, or all live. Result: how many, and what the caller passes on to finish_transitions.
-- Locks: 7 ended job (those that are free), then as revive; or 8 job.
create or replace function fairmill.bring_back_jobs(ids bigint[], ends timestamptz[], out changed integer,
  out queues text[], out keys text[], out members jsonb, out revived jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids  bigint[];
  v_ends timestamptz[];
begin
  changed := 0;
  if ends[1] is null then
    select array_agg(held.id) into v_ids
    from (
      select j.id from fairmill.job j where j.id = any (ids) and j.state = 'scheduled' order by j.id for update) held;
    if v_ids is null then
      return;
    end if;
    update fairmill.job j set run_at = clock_timestamp() where j.id = any (v_ids);
    select a.queues, a.keys into queues, keys from fairmill.admit_due(v_ids) a;
    changed := cardinality(v_ids);
    return;
  end if;
  select array_agg(held.id), array_agg(held.ended_at) into v_ids, v_ends
  from (
    select h.id, h.ended_at from unnest(ids, ends) as picked (id, ended_at)
    join fairmill.job_history h on h.id = picked.id and h.ended_at = picked.ended_at
    for update of h skip locked) held;
  if v_ids is null then
    return;
  end if;
  select r.queues, r.keys, r.members, cardinality(r.brought) into queues, keys, revived, changed
  from fairmill.revive(v_ids, v_ends) r;
end
$$;
