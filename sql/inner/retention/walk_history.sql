-- The next step of retention by rules: looks at a few blocks of one partition of the history and removes the jobs in
-- them that were kept for long enough, with what belongs to them. Part of retention; without rules it is not called.
-- A partition is walked once for each length of time that a rule names, from its first block to its last, when the
-- first of its jobs are that old; again after an eighth of that time while more of them reach that age; and a last time
-- when all have. Where a step ended is in retention_walk, so a process that dies loses nothing but the step.
--   history_keep  the general age: for jobs that no rule fits. They are walked for where a rule keeps others for longer
-- Locks: as remove_ended. The caller has the advisory lock of upkeep: walks are changed by one session at a time.
-- Plan expected: a range of ctids, then the rows by their ctids.
create or replace function fairmill.walk_history(history_keep interval, blocks_max integer default 128)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_general bigint := (extract(epoch from history_keep) * 1000)::bigint;
  v_walk    record;
  v_from    bigint;
  v_blocks  bigint;
  v_seen    integer;
  v_ctids   tid[];
  v_gone    record;
  v_over    boolean;
begin
  with keeps as (
    select distinct r.keep_ms from fairmill.retention_rule r where r.keep_ms is not null
    union
    select v_general),
  is_long as (
    select exists (
      select from fairmill.retention_rule r where coalesce(r.keep_ms > v_general, true)) as yes)
  select d.part, d.until, k.keep_ms, w.next_block, w.ended_at is null and w.part is not null as is_begun,
    coalesce(w.removed, 0) as removed, w.begun_at
    into v_walk
  from fairmill.history_days() d
  cross join keeps k
  cross join is_long l
  left join fairmill.retention_walk w on w.part = d.part and w.keep_ms = k.keep_ms
  where d.since + k.keep_ms * interval '1 millisecond' <= now()
    -- Days that are older than the general age are dropped whole where no rule keeps anything for longer.
    and (k.keep_ms < v_general or l.yes or d.part = 'job_history_rest')
    and (w.part is null or not w.is_last and (w.ended_at is null
      or w.ended_at + greatest(interval '1 minute', k.keep_ms / 8 * interval '1 millisecond') <= now()))
  order by w.ended_at is null and w.part is not null desc, w.ended_at nulls first, d.part, k.keep_ms limit 1;
  if not found then
    return 0;
  end if;
  v_from := case when v_walk.is_begun then v_walk.next_block else 0 end;
  v_blocks := pg_relation_size(format('fairmill.%I', v_walk.part)::regclass) / current_setting('block_size')::bigint;

  -- What is kept for how long is asked once for each sort of job, not for each job.
  execute format('with seen as materialized (
      select x.ctid as tid, x.tenant, x.kind, x.state, x.ended_at from fairmill.%I x
      where x.ctid >= %L::tid and x.ctid < %L::tid),
    sorts as materialized (
      select s.tenant, s.kind, s.state, fairmill.keep_of(s.tenant, s.kind, s.state, $1) as keep_ms
      from (select distinct o.tenant, o.kind, o.state from seen o) s)
    select count(*), coalesce(array_agg(s.tid) filter (where k.keep_ms = $2
      and s.ended_at < now() - $2 * interval ''1 millisecond''), ''{}'')
    from seen s join sorts k on k.tenant = s.tenant and k.kind = s.kind and k.state = s.state',
    v_walk.part, format('(%s,0)', v_from), format('(%s,0)', v_from + blocks_max))
  into v_seen, v_ctids using v_general, v_walk.keep_ms;
  select * into v_gone from fairmill.remove_ended(v_walk.part, v_ctids);
  v_over := v_from + blocks_max >= v_blocks;

  insert into fairmill.retention_walk as w (part, keep_ms, next_block, ended_at, removed, remaining, busy, is_last)
  values (v_walk.part, v_walk.keep_ms, v_from + blocks_max, case when v_over then now() end, v_gone.jobs,
    v_seen - v_gone.jobs, cardinality(v_ctids) - v_gone.jobs, false)
  on conflict (part, keep_ms) do update
  set next_block = excluded.next_block, ended_at = excluded.ended_at, moved_at = now(),
    begun_at = case when v_walk.is_begun then w.begun_at else now() end,
    removed = excluded.removed + case when v_walk.is_begun then w.removed else 0 end,
    remaining = excluded.remaining + case when v_walk.is_begun then w.remaining else 0 end,
    busy = excluded.busy + case when v_walk.is_begun then w.busy else 0 end;
  -- Ten minutes more: a transaction that ended a job may have committed late.
  update fairmill.retention_walk w
  set is_last = w.busy = 0
    and w.begun_at >= v_walk.until + w.keep_ms * interval '1 millisecond' + interval '10 minutes'
  where v_over and w.part = v_walk.part and w.keep_ms = v_walk.keep_ms;
  return v_gone.jobs;
end
$$;
