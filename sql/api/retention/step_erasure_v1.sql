-- The next step of erasing a tenant: a bounded number of blocks of one table, and the cursor, in one transaction. A
-- step that is repeated goes on from there, and the process that calls it may die at any time. Of two callers at once
-- the second is told busy.
-- In this order: live jobs are cancelled, those that still run after ten seconds are fenced off, then every table of
-- erased_tables; all of it again until a whole round finds nothing. Then come the files, which the caller removes.
-- Result: state: running (call again), waiting (call again in a while: handlers may end), files (remove them, then
-- erased_files_v1), done, failed, busy, not_found; erased: rows of this step.
-- Locks: 0 long action, then 8 job, then as cancel_jobs, then as end_jobs, then as finish_transitions, or as
-- erase_blocks.
create or replace function fairmill.step_erasure_v1(erasure_id bigint, blocks_max integer default 256,
  out state text, out phase text, out erased integer)
language plpgsql
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_row    fairmill.tenant_erasure;
  v_table  record;
  v_step   record;
  v_done   record;
  v_ids    bigint[];
  v_name   text;
  v_cursor jsonb;
  v_counts jsonb;
begin
  erased := 0;
  if blocks_max is null or blocks_max not between 1 and 100000 then
    raise exception 'a step looks at 1 to 100000 blocks' using errcode = 'FM001';
  end if;
  select * into v_row from fairmill.tenant_erasure e where e.id = erasure_id and e.state = 'running'
  for update skip locked;
  if not found then
    select case when e.state = 'running' then 'busy' else e.state end, e.phase into state, phase
    from fairmill.tenant_erasure e where e.id = erasure_id;
    state := coalesce(state, 'not_found');
    return;
  end if;
  v_cursor := v_row.cursor;
  v_counts := v_row.counts;
  phase := v_row.phase;
  state := 'running';
  if phase in ('jobs', 'fence') then
    if phase = 'fence' and (v_cursor ->> 'told')::integer > 0 and v_row.updated_at > now() - interval '10 seconds'
        and exists (select from fairmill.job j where j.cancel_requested_at is not null and j.tenant = v_row.tenant) then
      state := 'waiting';
      return;
    end if;
    select * into v_step from fairmill.tenant_jobs(
      v_row.tenant, phase = 'fence', coalesce((v_cursor ->> 'block')::bigint, 0), blocks_max);
    begin
      if phase = 'jobs' then
        select c.changed, c.keys, c.members into v_done from fairmill.cancel_jobs(v_step.ids) c;
      else
        -- Its worker's lease is worth nothing from here on: whatever it still writes is refused.
        v_ids := array(select j.id from fairmill.job j where j.id = any (v_step.ids) order by j.id for update);
        select e.ended as changed, e.freed as keys, e.members into v_done
        from fairmill.end_jobs(v_ids, array_fill('cancelled'::text, array[cardinality(v_ids)])) e;
      end if;
      perform fairmill.finish_transitions(null, v_done.keys, v_done.members);
    exception when lock_not_available then
      state := 'waiting';
      return;
    end;
    erased := v_done.changed;
    v_name := case when phase = 'jobs' then 'job' else 'job_fenced' end;
    v_cursor := v_cursor || jsonb_build_object(
      'found', coalesce((v_cursor ->> 'found')::bigint, 0) + erased,
      'told', case when phase = 'jobs' then coalesce((v_cursor ->> 'told')::bigint, 0) + erased else 0 end,
      'block', case when v_step.is_end then 0 else coalesce((v_cursor ->> 'block')::bigint, 0) + blocks_max end);
    if v_step.is_end then
      phase := case when phase = 'jobs' then 'fence' else 'tables' end;
      v_cursor := v_cursor || '{"table": ""}';
    end if;
  elsif phase = 'tables' then
    select t.* into v_table from fairmill.erased_tables() t
    where t.n > coalesce((select o.n from fairmill.erased_tables() o where o.part = v_cursor ->> 'table'), 0)
    order by t.n limit 1;
    if v_table.part is null and (v_cursor ->> 'found')::bigint > 0 then
      -- Something came in meanwhile, or was locked: everything again.
      phase := 'jobs';
      v_cursor := '{"found": 0, "told": 0, "block": 0}';
    elsif v_table.part is null then
      phase := 'files';
    else
      -- A day of the history may have been dropped since: then the block is not of this table.
      v_cursor := v_cursor || jsonb_build_object('block',
        case when v_cursor ->> 'open' = v_table.part then (v_cursor ->> 'block')::bigint else 0 end);
      select * into v_step from fairmill.erase_blocks(
        v_row, v_table.part, v_table.condition, v_table.change, (v_cursor ->> 'block')::bigint, blocks_max);
      erased := v_step.erased;
      v_name := regexp_replace(v_table.part, '^job_history_.*', 'job_history');
      v_counts := v_counts || jsonb_strip_nulls(jsonb_build_object(
        'step', nullif(coalesce((v_counts ->> 'step')::bigint, 0) + v_step.steps, 0),
        'job_log', nullif(coalesce((v_counts ->> 'job_log')::bigint, 0) + v_step.lines, 0)));
      v_cursor := v_cursor || jsonb_build_object(
        'found', coalesce((v_cursor ->> 'found')::bigint, 0) + erased,
        'table', case when v_step.is_end then v_table.part else v_cursor ->> 'table' end,
        'open', case when v_step.is_end then null else v_table.part end,
        'block', (v_cursor ->> 'block')::bigint + blocks_max);
    end if;
  end if;
  if erased > 0 then
    v_counts := v_counts || jsonb_build_object(v_name, coalesce((v_counts ->> v_name)::bigint, 0) + erased);
  end if;
  if phase = 'files' then
    state := case when cardinality(v_row.storages) > 0 then 'files' else 'done' end;
  end if;
  update fairmill.tenant_erasure e
  set phase = step_erasure_v1.phase, cursor = v_cursor, counts = v_counts, updated_at = clock_timestamp()
  where e.id = erasure_id;
  if state = 'done' then
    perform fairmill.finish_erasure(erasure_id);
  end if;
end
$$;
