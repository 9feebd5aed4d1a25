-- Makes a flow with all its nodes and starts those without dependencies.
--   spec  name, tenant, parent (the batch around it), callbacks {success, complete, death}, idempotency_key (of the
--         tenant's flows: a second call answers with the first one's flow), and nodes: an array in which every node
--         comes after those that it waits for, of objects: name, after (positions of the nodes before it, from 0),
--         inside (position of the node that contains it), when (succeeded | settled | failed), on_failure (fail |
--         skip | continue), jobs (as enqueue_many_v1 takes them)
-- Result: the flow; refused: why there is none.
-- Locks: 13 batch (the one around it, and one of the same key), then as enqueue_many_v1. No other session sees the flow
-- before the commit, so its tree needs none.
create or replace function fairmill.start_flow_v1(spec jsonb, out id bigint, out refused jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_parent  bigint := (spec ->> 'parent')::bigint;
  v_tenant  text := coalesce(spec ->> 'tenant', 'default');
  v_root    bigint;
  v_ids     bigint[];
  v_first   bigint[];
  v_started bigint[];
  v_died    bigint[];
begin
  if jsonb_typeof(spec -> 'nodes') is distinct from 'array' then
    raise exception 'nodes must be a JSON array' using errcode = 'FM001',
      hint = 'Pass {"nodes": [{"name": "…", "jobs": [{"kind": "…"}]}, …]}.';
  end if;
  if exists (
    select from jsonb_array_elements(spec -> 'nodes') with ordinality as e (node, n)
    where (e.node ->> 'inside')::integer not between 0 and e.n - 2
      or exists (
        select from jsonb_array_elements(e.node -> 'after') as a (position)
        where a.position::integer not between 0 and e.n - 2)) then
    raise exception 'a node waits for one that does not come before it' using errcode = 'FM001',
      hint = 'Order the nodes: after and inside name earlier positions.';
  end if;
  if exists (
    select from jsonb_array_elements(spec -> 'nodes') as e (node)
    where e.node ->> 'when' = 'failed' and coalesce(e.node -> 'after', '[]') = '[]') then
    raise exception 'a node that waits for a failure must name a node before it' using errcode = 'FM001',
      hint = 'Give it after, or another when.';
  end if;
  perform fairmill.refuse_reserved(
    jsonb_path_query_array(spec, '$.nodes[*].jobs[*]') || jsonb_path_query_array(spec, '$.callbacks.*'));
  if v_parent is not null then
    if cardinality(fairmill.open_batches(array[v_parent])) = 0 then
      refused := jsonb_build_object('code', 'FAIRMILL_BATCH_ENDED', 'batch', v_parent::text);
      return;
    end if;
    select b.root into v_root from fairmill.batch b where b.id = v_parent;
  end if;
  id := nextval('fairmill.batch_id_seq');
  v_root := coalesce(v_root, id);
  insert into fairmill.batch (id, root, parent, role, state, tenant, name, callbacks, idempotency_key, started_at)
  overriding system value
  values (id, v_root, v_parent, 'flow', 'pending', v_tenant, spec ->> 'name', spec -> 'callbacks',
    spec ->> 'idempotency_key', clock_timestamp())
  on conflict (tenant, role, idempotency_key) where idempotency_key is not null do nothing;
  if not found then
    select b.id into id from fairmill.batch b
    where b.tenant = v_tenant and b.role = 'flow' and b.idempotency_key = spec ->> 'idempotency_key';
    return;
  end if;

  v_ids := array(select nextval('fairmill.batch_id_seq') from jsonb_array_elements(spec -> 'nodes'));
  insert into fairmill.batch (id, root, parent, role, state, tenant, name, start_when, on_failure, jobs, waits)
  overriding system value
  select v_ids[e.n], v_root, coalesce(v_ids[(e.node ->> 'inside')::integer + 1], start_flow_v1.id), 'node', 'waiting',
    v_tenant, e.node ->> 'name', coalesce(e.node ->> 'when', 'succeeded'), coalesce(e.node ->> 'on_failure', 'fail'),
    nullif(e.node -> 'jobs', '[]'),
    (select count(distinct a.position) from jsonb_array_elements_text(e.node -> 'after') as a (position))
  from jsonb_array_elements(spec -> 'nodes') with ordinality as e (node, n);
  insert into fairmill.batch_edge (before, after)
  select distinct v_ids[a.position::integer + 1], v_ids[e.n]
  from jsonb_array_elements(spec -> 'nodes') with ordinality as e (node, n)
  cross join lateral jsonb_array_elements_text(e.node -> 'after') as a (position);

  v_first := array(
    select v_ids[e.n] from jsonb_array_elements(spec -> 'nodes') with ordinality as e (node, n)
    where e.node ->> 'inside' is null and coalesce(e.node -> 'after', '[]') = '[]');
  select s.started, s.died into v_started, v_died from fairmill.start_nodes(v_first) s;
  perform fairmill.enqueue_callbacks('{}', v_died);
  -- A batch with nothing to do is over. Its end may end the batch around the flow, too, and the caller's transaction is
  -- not to hold that lock: upkeep ends them.
  update fairmill.batch b set check_at = clock_timestamp()
  where b.id = any (v_started || start_flow_v1.id)
    and (select j.id from fairmill.job j where j.batch = b.id limit 1) is null
    and (select c.id from fairmill.batch c where c.parent = b.id and c.state in ('waiting', 'pending') limit 1) is null;
  if found then
    perform pg_notify('fairmill', '!due 0')
    where exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > now());
  end if;
end
$$;
