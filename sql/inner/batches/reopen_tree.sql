-- Opens batches that were over, and those around them; nodes that were skipped because of them wait again.
-- The caller has the trees' locks. Result: the nodes that wait again; the caller starts those that wait for no other
-- node.
-- Locks: none: the caller has 11 tree.
-- Plan expected: the primary keys of batch and batch_edge, batch_inside; and as reset_nodes.
create or replace function fairmill.reopen_tree(batches bigint[])
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_level  bigint[] := batches;
  v_all    bigint[] := '{}';   -- opened, from the inside out
  v_again  bigint[] := '{}';
  v_around bigint[];           -- the batches around a level, and
  v_counts jsonb;              -- how many of them had failed
begin
  loop
    v_level := array(select b.id from fairmill.batch b where b.id = any (v_level) and b.ended_at is not null);
    exit when cardinality(v_level) = 0;
    select array_agg(c.parent), jsonb_object_agg(c.parent::text, c.batches) into v_around, v_counts
    from (
      select b.parent, count(*)
          filter (where b.state in ('failed', 'cancelled') and coalesce(b.on_failure, 'fail') = 'fail') as batches
      from unnest(v_level) as given (id)
      cross join lateral (select x.parent, x.state, x.on_failure from fairmill.batch x where x.id = given.id offset 0) b
      where b.parent is not null
      group by 1) c;
    update fairmill.batch p set failed = greatest(0, p.failed - (v_counts ->> p.id::text)::integer)
    where p.id = any (v_around);
    update fairmill.batch b
    set state = 'pending', ended_at = null, closed_at = null, cancel_requested_at = null,
      started_at = coalesce(b.started_at, clock_timestamp())
    where b.id = any (v_level);
    v_all := v_all || v_level;
    v_level := v_around;
  end loop;

  -- What was skipped because of them, and what was skipped because of that. A flow that failed had skipped nodes
  -- elsewhere, too.
  v_level := array(
    select n.id from unnest(v_all) as opened (id)
    cross join lateral (select x.after from fairmill.batch_edge x where x.before = opened.id offset 0) e
    cross join lateral (select x.id, x.state from fairmill.batch x where x.id = e.after offset 0) n
    where n.state in ('skipped', 'waiting')
    union
    select n.id from unnest(v_all) as opened (id)
    cross join lateral (
      select x.id, x.state, x.start_when from fairmill.batch x where x.parent = opened.id offset 0) n
    where n.state = 'skipped' and n.start_when = 'succeeded');
  while cardinality(v_level) > 0 loop
    v_again := v_again || v_level;
    v_level := array(
      select distinct n.id from unnest(v_level) as given (id)
      cross join lateral (select x.after from fairmill.batch_edge x where x.before = given.id offset 0) e
      cross join lateral (select x.id, x.state from fairmill.batch x where x.id = e.after offset 0) n
      where n.state in ('skipped', 'waiting') and n.id <> all (v_again));
  end loop;
  -- With a flow that was skipped everything in it.
  v_again := fairmill.batches_within_v1(v_again);
  v_again := array(
    select n.id from fairmill.batch n
    where n.id = any (v_again) and n.role = 'node' and n.state in ('skipped', 'waiting'));
  perform fairmill.reset_nodes(v_again);
  return v_again;
end
$$;
