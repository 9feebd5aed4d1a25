-- Starts nodes that wait for no other node any more, or skips them, as their start_when says.
-- The caller has the trees' locks. Result: the nodes that were skipped; those that were started, which may be over at
-- once; and of these the ones with a job that was refused, and so is dead.
-- Locks: as store_jobs.
-- Plan expected: the primary key of batch, and batch_inside for flows inside a flow.
create or replace function fairmill.start_nodes(nodes bigint[],
  out skipped bigint[], out started bigint[], out died bigint[])
language plpgsql
as $$
#variable_conflict use_column
declare
  v_nodes bigint[] := nodes;
  v_new   bigint[];
  v_not   bigint[];
  v_jobs  fairmill.new_job[];
  v_own   jsonb;   -- by node its first job
begin
  skipped := '{}';
  started := '{}';
  died := '{}';
  -- Level by level: a flow inside a flow starts with its nodes without dependencies.
  while cardinality(v_nodes) > 0 loop
    select coalesce(array_agg(d.id) filter (where d.may_start), '{}'),
      coalesce(array_agg(d.id) filter (where not d.may_start), '{}')
      into v_new, v_not
    from (
      select n.id, n.waits = 0 and p.cancel_requested_at is null and case n.start_when
          when 'succeeded' then n.unmet = 0 and p.failed = 0
          when 'failed' then n.fails > 0 else true end as may_start
      from unnest(v_nodes) as given (id)
      cross join lateral (
        select x.id, x.parent, x.state, x.waits, x.unmet, x.fails, x.start_when from fairmill.batch x
        where x.id = given.id offset 0) n
      cross join lateral (
        select x.state, x.failed, x.cancel_requested_at from fairmill.batch x where x.id = n.parent offset 0) p
      -- Those of a flow inside that has not started wait for that.
      where n.state = 'waiting' and p.state = 'pending') d;
    update fairmill.batch n set state = 'pending', started_at = clock_timestamp() where n.id = any (v_new);
    update fairmill.batch n set state = 'skipped', ended_at = clock_timestamp() where n.id = any (v_not);
    skipped := skipped || v_not;
    if cardinality(v_not) > 0 then
      -- With a flow inside, everything in it.
      v_not := fairmill.batches_within_v1(v_not);
      update fairmill.batch c set state = 'skipped', ended_at = clock_timestamp()
      where c.id = any (v_not) and c.state = 'waiting';
    end if;

    select fairmill.parse_jobs(
        coalesce(jsonb_agg(e.job || jsonb_build_object('batch', n.id) order by n.id, e.n), '[]'), '{}')
      into v_jobs
    from fairmill.batch n
    cross join lateral jsonb_array_elements(n.jobs) with ordinality as e (job, n)
    where n.id = any (v_new);
    if cardinality(v_jobs) > 0 then
      v_jobs := fairmill.store_jobs(v_jobs, true, false, 'buried');
      select jsonb_object_agg(made.batch::text, made.first) into v_own
      from (select j.batch, min(j.id) as first from unnest(v_jobs) as j group by j.batch) made;
      update fairmill.batch n set own_job = (v_own ->> n.id::text)::bigint
      where n.id = any (v_new) and v_own ? n.id::text;
      died := died || array(select distinct j.batch from unnest(v_jobs) as j where j.refusal is not null);
    end if;
    started := started || v_new;
    v_nodes := array(
      select n.id from unnest(v_new) as given (id)
      cross join lateral (select x.id, x.state, x.waits from fairmill.batch x where x.parent = given.id offset 0) n
      where n.state = 'waiting' and n.waits = 0);
  end loop;
end
$$;
