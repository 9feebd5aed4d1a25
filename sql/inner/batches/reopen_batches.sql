-- Members of batches were brought back: they no longer count as ended, and what was over is open again, up to the
-- outermost batch. Nodes behind that were skipped wait again. Nodes that have started go on, and callbacks that were
-- enqueued are not enqueued again.
--   members  array of [batch, state in which the member had ended]
-- The caller has the trees' locks, and starts and advances the nodes in the result: they wait for no other node any
-- more.
-- Locks: none: the caller has 11 tree.
-- Plan expected: the primary key of batch, then as reopen_tree.
create or replace function fairmill.reopen_batches(members jsonb)
returns bigint[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_batches bigint[] := array(select distinct (m.one ->> 0)::bigint from jsonb_array_elements(members) as m (one));
  v_back    jsonb;      -- by batch: how many were dead, how many cancelled
  v_again   bigint[];
begin
  -- Not below 0: a node that was started again counts its members from 0.
  select jsonb_object_agg(back.batch, jsonb_build_array(back.dead, back.cancelled)) into v_back
  from (
    select m.one ->> 0 as batch, count(*) filter (where m.one ->> 1 = 'dead') as dead,
      count(*) filter (where m.one ->> 1 = 'cancelled') as cancelled
    from jsonb_array_elements(members) as m (one)
    group by 1) back;
  update fairmill.batch b
  set dead = greatest(0, b.dead - (v_back -> b.id::text ->> 0)::integer),
    cancelled = greatest(0, b.cancelled - (v_back -> b.id::text ->> 1)::integer)
  where b.id = any (v_batches);
  v_again := fairmill.reopen_tree(v_batches);
  return array(select n.id from fairmill.batch n where n.id = any (v_again) and n.waits = 0);
end
$$;
