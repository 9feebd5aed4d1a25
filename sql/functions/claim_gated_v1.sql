-- The claim where limits are: as claim_lanes_v1, which calls it, but every job passes the gates of its queue, kind and tenant and the
-- rate of its key.
--  1. Lock the meters of the gates that count something: queues, then kinds, then tenants, each by name.
--  2. Under the locks, with a new snapshot, see how much room each gate has.
--  3. Take candidates lane by lane, as far as the room of their queue and tenant goes; leave out kinds that are closed.
--  4. Hold those back that are too many for a gate they share with others. They stay ready.
--  5. Ask the rates of keys (key_rates_v1): who is over is put back as scheduled for the moment it may start.
--  6. Start the rest, spend the rates, tell what is closed now.
-- Result: the claimed jobs; and one row with id null if a gate is closed now or a job was put back. Its payload:
--   held       [{"scope", "name", "why": paused | cap | rate, "open_in_ms": when a rate opens}, …]
--   late       [[priority, tenant, count], …] jobs that the rate of a key put back: the lane gave them, but not to the worker
--   due_in_ms  when the first of these falls due
-- A claim that spends a rate is durable, whatever the caller says.
create or replace function fairmill.claim_gated_v1(
  worker_id text, queues text[], priorities smallint[], tenants text[], floors bigint[], quanta integer[], kinds text[], jobs_max integer, durable boolean)
returns table (id bigint, lease_no integer, priority smallint, tenant text, kind text, key text, attempt smallint, crashes smallint,
               max_attempts smallint, payload jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_at       timestamptz;
  v_gates    jsonb;      -- {"tenant": {"acme": {"room": 3, "bit": 1, …}}, "queue": …, "kind": …}
  v_quanta   integer[];
  v_closed   text[];     -- kinds
  v_places   tid[];
  v_keys     text[];
  v_kinds    text[];
  v_ids      bigint[];
  v_late     jsonb;
  v_again    boolean[];  -- came back after a rate had put them back
begin
  v_gates := fairmill.gate_rooms_v1(queues, kinds, tenants);
  v_at := clock_timestamp();
  v_closed := array(select k.name from jsonb_each(v_gates -> 'kind') as k (name, gate) where (k.gate -> 'room')::integer <= 0);
  select array_agg(least(lane.quantum, coalesce((v_gates #> array['tenant', lane.tenant, 'room'])::integer, lane.quantum),
                         coalesce((v_gates #> array['queue', lane.queue, 'room'])::integer, lane.quantum)) order by lane.n)
    into v_quanta from unnest(queues, tenants, quanta) with ordinality as lane (queue, tenant, quantum, n);

  with candidate as materialized (
    select ready.ctid as place, ready.id, ready.kind, ready.limit_key, ready.put_back, lane.queue, lane.tenant, lane.n
    from unnest(queues, priorities, tenants, floors, v_quanta) with ordinality as lane (queue, priority, tenant, floor, quantum, n)
    cross join lateral (
      select r.ctid, r.id, r.kind, r.limit_key, r.put_back from fairmill.job r
      where r.state = 'ready'
        and r.queue = lane.queue and r.priority = lane.priority
        and (r.tenant, r.id) > (lane.tenant, lane.floor) and r.tenant <= lane.tenant
        and (kinds is null or r.kind = any (kinds)) and r.kind <> all (v_closed)
        and (r.expire_at is null or r.expire_at > now())
      order by r.tenant, r.id
      limit lane.quantum
      for update skip locked) ready
    where lane.quantum > 0
    limit jobs_max),
  -- One gate after the other, so that a job which one of them holds back takes no room of the next.
  by_tenant as (
    select c.* from (select x.*, row_number() over (partition by x.tenant order by x.n, x.id) as turn from candidate x) c
    where c.turn <= coalesce((v_gates #> array['tenant', c.tenant, 'room'])::integer, c.turn)),
  by_kind as (
    select c.* from (select x.place, x.id, x.kind, x.limit_key, x.put_back, x.queue, x.n, row_number() over (partition by x.kind order by x.n, x.id) as turn from by_tenant x) c
    where c.turn <= coalesce((v_gates #> array['kind', c.kind, 'room'])::integer, c.turn)),
  by_queue as (
    select c.* from (select x.place, x.id, x.kind, x.limit_key, x.put_back, x.queue, x.n, row_number() over (partition by x.queue order by x.n, x.id) as turn from by_kind x) c
    where c.turn <= coalesce((v_gates #> array['queue', c.queue, 'room'])::integer, c.turn))
  select array_agg(f.id order by f.n, f.id), array_agg(f.place order by f.n, f.id), array_agg(f.kind order by f.n, f.id),
         array_agg(f.limit_key order by f.n, f.id), array_agg(f.put_back is true order by f.n, f.id)
    into v_ids, v_places, v_kinds, v_keys, v_again from by_queue f;

  if exists (select from fairmill.key_rule r where r.rate_at = 'start' and r.kind = any (v_kinds)) then
    v_late := fairmill.key_rates_v1(v_ids, v_kinds, v_keys, v_again, v_at);
    if v_late is not null then
      select array_agg(p.place) into v_places from unnest(v_ids, v_places) as p (id, place) where not (v_late -> 'ids') ? p.id::text;
    end if;
    durable := true;
  end if;
  if not (durable or v_gates @? '$.*.*.per_ms') then
    perform set_config('synchronous_commit', 'off', true);
  end if;

  return query
    with started as (
      update fairmill.job j
      set state = 'running', worker = worker_id, lease_no = j.lease_no + 1, attempt = j.attempt + 1, started_at = v_at, put_back = null,
          counted = nullif(coalesce((v_gates #> array['tenant', j.tenant, 'bit'])::smallint, 0::smallint) | coalesce((v_gates #> array['queue', j.queue, 'bit'])::smallint, 0::smallint)
                         | coalesce((v_gates #> array['kind', j.kind, 'bit'])::smallint, 0::smallint), 0::smallint)
      where j.ctid = any (v_places)
      returning j.id, j.lease_no, j.priority, j.tenant, j.kind, j.key, j.attempt, j.crashes, j.max_attempts, j.payload, j.queue),
    used as (
      select 'tenant' as scope, jsonb_object_agg(n.tenant, n.count) as counts from (select s.tenant, count(*) from started s group by s.tenant) n
      union all select 'kind', jsonb_object_agg(n.kind, n.count) from (select s.kind, count(*) from started s group by s.kind) n
      union all select 'queue', jsonb_object_agg(n.queue, n.count) from (select s.queue, count(*) from started s group by s.queue) n),
    held as (select fairmill.close_gates_v1(v_gates, jsonb_object_agg(u.scope, u.counts), v_at) as list from used u)
    select s.id, s.lease_no, s.priority, s.tenant, s.kind, s.key, s.attempt, s.crashes, s.max_attempts, s.payload from started s
    union all
    select null, null, null, null, null, null, null, null, null, jsonb_build_object('held', coalesce(h.list, '[]')) || coalesce(v_late -> 'told', '{}')
    from held h where h.list is not null or v_late is not null;
end
$$;
