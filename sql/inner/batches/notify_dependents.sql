-- Tells the batches around and the nodes behind that these are over. A failure that is not tolerated fails the flow
-- around it; what waits there for success is skipped.
-- The caller has the trees' locks. Result: the nodes that wait for no other node any more.
-- Locks: none: the caller has 11 tree.
-- Plan expected: the primary keys of batch and batch_edge; batch_inside for the nodes of a flow that failed.
create or replace function fairmill.notify_dependents(batches bigint[])
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_counts  jsonb;
  v_failing bigint[];
  v_behind  bigint[];
  v_free    bigint[];
begin
  -- Updates take their values from a map: a join could begin with the table and walk along it.
  select jsonb_object_agg(f.parent::text, f.batches), array_agg(f.parent) into v_counts, v_failing
  from (
    select b.parent, count(*) as batches from unnest(batches) as given (id)
    cross join lateral (select x.parent, x.state, x.on_failure from fairmill.batch x where x.id = given.id offset 0) b
    where b.parent is not null and b.state in ('failed', 'cancelled') and coalesce(b.on_failure, 'fail') = 'fail'
    group by 1) f;
  if v_failing is not null then
    update fairmill.batch p set failed = p.failed + (v_counts ->> p.id::text)::integer where p.id = any (v_failing);
  end if;

  select jsonb_object_agg(l.after::text, jsonb_build_array(l.nodes, l.fails, l.unmet)), array_agg(l.after)
    into v_counts, v_behind
  from (
    select e.after, count(*) as nodes, count(*) filter (where b.state in ('failed', 'cancelled')) as fails,
      count(*) filter (where b.state = 'skipped' or b.state in ('failed', 'cancelled') and b.on_failure <> 'continue')
        as unmet
    from unnest(batches) as given (id)
    cross join lateral (select x.state, x.on_failure from fairmill.batch x where x.id = given.id offset 0) b
    cross join lateral (select x.after from fairmill.batch_edge x where x.before = given.id offset 0) e
    group by 1) l;
  with told as (
    update fairmill.batch n
    set waits = n.waits - (v_counts -> n.id::text ->> 0)::integer,
      fails = n.fails + (v_counts -> n.id::text ->> 1)::integer,
      unmet = n.unmet + (v_counts -> n.id::text ->> 2)::integer
    where n.id = any (v_behind) and n.state = 'waiting'
    returning n.id, n.waits)
  select coalesce(array_agg(told.id) filter (where told.waits = 0), '{}') into v_free from told;

  if v_failing is not null then
    -- They wait for a success that no longer helps.
    v_free := v_free || array(
      select n.id from unnest(v_failing) as failing (id)
      cross join lateral (
        select x.id, x.state, x.start_when from fairmill.batch x where x.parent = failing.id offset 0) n
      where n.state = 'waiting' and n.start_when = 'succeeded' and n.id <> all (v_free));
  end if;
  return v_free;
end
$$;
