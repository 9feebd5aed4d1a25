-- Ends those of these batches that are over, and does what follows from it, until nothing does: callbacks, nodes that
-- start or are skipped, the batches around them.
--   died   batches in which a member died;  skipped: nodes that the caller has ended without a start
-- The caller has the trees' locks. A batch that is not over stays as it is, so it does no harm to name one too many.
-- Locks: 13 batch (those that end), then as store_jobs.
-- Plan expected: the primary keys of batch and batch_edge; batch_inside for the nodes of a flow.
create or replace function fairmill.advance_batches(batches bigint[], died bigint[] default '{}',
  skipped bigint[] default '{}')
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_check   bigint[] := batches;   -- which may be over
  v_over    bigint[];
  v_died    bigint[] := died;
  v_skipped bigint[] := skipped;
  v_started bigint[];
begin
  loop
    v_over := fairmill.idle_batches(v_check);
    update fairmill.batch b
    set state = case when b.cancel_requested_at is not null then 'cancelled'
        when greatest(b.dead, b.failed, b.lost) > 0 then 'failed'
        when b.cancelled > 0 then 'cancelled' else 'succeeded' end,
      ended_at = clock_timestamp(), check_at = null
    where b.id = any (v_over);
    perform fairmill.enqueue_callbacks(v_over, v_died);
    v_over := v_over || v_skipped;
    exit when cardinality(v_over) = 0;

    select n.skipped, n.started, n.died into v_skipped, v_started, v_died
    from fairmill.start_nodes(fairmill.notify_dependents(v_over)) n;
    v_check := v_started || array(
      select distinct b.parent from unnest(v_over) as given (id)
      cross join lateral (select x.parent from fairmill.batch x where x.id = given.id offset 0) b
      where b.parent is not null);
  end loop;
end
$$;
