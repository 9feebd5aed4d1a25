-- Runs a flow again from one of its nodes on: that node and everything behind it wait and start again, whatever they
-- had come to. Nodes that do not depend on it stay as they are. Callbacks that were enqueued are not enqueued again.
--   node_name  null: from every node that failed or was cancelled
-- Result: started, and how many nodes run again; running (one of them runs now: cancel it, or wait), nothing
-- (no such node), not_found.
-- Locks: 11 tree, 15 account (of its nodes and callbacks), then as advance_batches.
-- Plan expected: the primary keys of batch and batch_edge, batch_inside.
create or replace function fairmill.retry_flow_v1(flow_id bigint, node_name text default null,
  out answer text, out nodes integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_first  bigint[];
  v_level  bigint[];
  v_again  bigint[] := '{}';   -- the nodes, and whatever is inside them
  v_inner  bigint[];
  v_failed integer;
  v_nodes  record;
begin
  nodes := 0;
  perform fairmill.lock_trees(array[flow_id]);
  if (select b.role from fairmill.batch b where b.id = flow_id) is distinct from 'flow' then
    answer := 'not_found';
    return;
  end if;
  v_first := array(
    select n.id from fairmill.batch n
    where n.parent = flow_id and n.role = 'node'
      and case when node_name is null then n.state in ('failed', 'cancelled') else n.name = node_name end);
  if cardinality(v_first) = 0 then
    answer := 'nothing';
    return;
  end if;
  v_level := v_first;
  while cardinality(v_level) > 0 loop
    v_again := v_again || v_level;
    v_level := array(
      select distinct e.after from fairmill.batch_edge e
      where e.before = any (v_level) and e.after <> all (v_again));
  end loop;
  if exists (select from fairmill.batch n where n.id = any (v_again) and n.state = 'pending') then
    answer := 'running';
    return;
  end if;
  nodes := cardinality(v_again);
  v_failed := (
    select count(*) from fairmill.batch n
    where n.id = any (v_again) and n.state in ('failed', 'cancelled') and n.on_failure = 'fail');
  update fairmill.batch f set failed = greatest(0, f.failed - v_failed) where f.id = flow_id;
  -- Batches that a member had opened are no part of the plan: they are over, and the member will open new ones.
  v_inner := fairmill.batches_within_v1(v_again);
  v_inner := array(
    select b.id from fairmill.batch b where b.id = any (v_inner) and b.role = 'node' and b.id <> all (v_again));
  -- Nodes start level by level: what all of them need of accounts is locked before the first.
  perform fairmill.lock_accounts(fairmill.tree_accounts(array[flow_id]));
  v_level := fairmill.reopen_tree(array[flow_id]);
  perform fairmill.reset_nodes(v_again || v_inner);
  select * into v_nodes from fairmill.start_nodes(
    array(select n.id from fairmill.batch n where n.id = any (v_again || v_level) and n.waits = 0));
  perform fairmill.advance_batches(v_nodes.started, v_nodes.died, v_nodes.skipped);
  answer := 'started';
end
$$;
