-- Enqueues the callbacks that are due, each as a member of the batch around it (unless that is being cancelled: it
-- takes no more), and records its job in the batch: that is why none is enqueued twice. A callback that is refused is
-- buried as a dead member of the batch around it, whose own death callback is then due: the loop goes on until none is
-- left.
--   over  batches that have just ended: success and complete;  died: batches in which a member died: death, theirs and
--         that of the flows whose nodes they are
-- The caller has the trees' locks.
-- Locks: as store_jobs.
-- Plan expected: the primary key of batch; a probe for each batch and each node around it.
create or replace function fairmill.enqueue_callbacks(over bigint[], died bigint[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_over    bigint[] := over;
  v_died    bigint[] := died;
  v_batches bigint[];
  v_events  text[];
  v_due     jsonb;
  v_jobs    fairmill.new_job[];
  v_made    jsonb;      -- by batch, the job of each event
begin
  while cardinality(v_over) + cardinality(v_died) > 0 loop
    with recursive around (id, parent, role) as (
      select b.id, b.parent, b.role from unnest(v_died) as given (id)
      cross join lateral (select x.id, x.parent, x.role from fairmill.batch x where x.id = given.id offset 0) b
      union
      -- The jobs of a flow are members of its nodes.
      select b.id, b.parent, b.role from around
      cross join lateral (select x.id, x.parent, x.role from fairmill.batch x where x.id = around.parent offset 0) b
      where around.role = 'node'),
    event (batch, name, turn) as (
      select given.id, e.name, e.turn from unnest(v_over) as given (id)
      cross join (values ('success', 1), ('complete', 2)) as e (name, turn)
      union
      select around.id, 'death', 3 from around),
    due as (
      select b.id, event.name, event.turn, b.callbacks -> event.name
        || case when parent.id is null then '{}' else jsonb_build_object('batch', parent.id) end as job
      from event
      cross join lateral (
        select x.id, x.parent, x.callbacks from fairmill.batch x
        where x.id = event.batch and x.callbacks ? event.name and case event.name
          when 'success' then x.success_job is null and x.state = 'succeeded'
          when 'complete' then x.complete_job is null else x.death_job is null end offset 0) b
      left join lateral (
        select p.id from fairmill.batch p
        where p.id = b.parent and p.cancel_requested_at is null offset 0) parent on true)
    select array_agg(d.id order by d.id, d.turn), array_agg(d.name order by d.id, d.turn),
      jsonb_agg(d.job order by d.id, d.turn)
      into v_batches, v_events, v_due
    from due d;
    exit when v_batches is null;
    v_jobs := fairmill.store_jobs(fairmill.parse_jobs(v_due, '{}'), true, false, 'buried');
    -- From a map: a join could begin with the table and walk along it.
    select jsonb_object_agg(made.id::text, made.jobs) into v_made
    from (
      select given.id, jsonb_object_agg(given.event, v_jobs[given.n].id) as jobs
      from unnest(v_batches, v_events) with ordinality as given (id, event, n)
      group by given.id) made;
    update fairmill.batch b
    set success_job = coalesce(b.success_job, (v_made -> b.id::text ->> 'success')::bigint),
      complete_job = coalesce(b.complete_job, (v_made -> b.id::text ->> 'complete')::bigint),
      death_job = coalesce(b.death_job, (v_made -> b.id::text ->> 'death')::bigint)
    where b.id = any (v_batches);
    v_over := '{}';
    v_died := array(
      select distinct j.batch from unnest(v_jobs) as j where j.refusal is not null and j.batch is not null);
  end loop;
end
$$;
