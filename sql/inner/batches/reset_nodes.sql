-- Makes nodes wait as if they had never started or been skipped, and counts their open dependencies again. Members of
-- an earlier run are not theirs any more.
-- The caller has the trees' locks, and calls advance_batches or start_nodes if some of them wait for no other node.
-- Locks: none: the caller has 11 tree.
-- Plan expected: the primary key of batch, and batch_edge_after.
create or replace function fairmill.reset_nodes(nodes bigint[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_counts jsonb;   -- by node: waits, fails, unmet
begin
  update fairmill.batch n
  set state = 'waiting', ended_at = null, started_at = null, closed_at = null, registered_at = null,
    cancel_requested_at = null, own_job = null, done = 0, dead = 0, cancelled = 0, failed = 0, lost = 0
  where n.id = any (nodes);
  select jsonb_object_agg(given.id::text, jsonb_build_array(before.waits, before.fails, before.unmet)) into v_counts
  from unnest(nodes) as given (id)
  cross join lateral (
    select count(*) filter (where p.state in ('waiting', 'pending')) as waits,
      count(*) filter (where p.state in ('failed', 'cancelled')) as fails,
      count(*) filter (where p.state = 'skipped' or p.state in ('failed', 'cancelled') and p.on_failure <> 'continue')
        as unmet
    from fairmill.batch_edge e
    cross join lateral (select x.state, x.on_failure from fairmill.batch x where x.id = e.before offset 0) p
    where e.after = given.id) before;
  update fairmill.batch n
  set waits = (v_counts -> n.id::text ->> 0)::integer, fails = (v_counts -> n.id::text ->> 1)::integer,
    unmet = (v_counts -> n.id::text ->> 2)::integer
  where n.id = any (nodes);
end
$$;
