-- Claims jobs without a memory of lanes: for clients of any language, and for callers that live for one request only.
-- Every waiting tenant gets an equal part of the batch; where tenants are many, a random starting point gives each its turn.
--   worker_id   a worker registered by register_v1; its heartbeats keep the claimed jobs
--   queue_name  the queue to claim from
--   jobs_max    at most so many jobs;  tenant_max: at most so many of one tenant and priority
--   kinds       only these kinds; null: any
create or replace function fairmill.claim_v1(
  worker_id text, queue_name text default 'default', jobs_max integer default 1, tenant_max integer default 25, kinds text[] default null)
returns table (id bigint, lease_no integer, priority smallint, tenant text, kind text, key text, attempt smallint, crashes smallint,
               max_attempts smallint, payload jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_priorities smallint[];
  v_tenants    text[];
  v_count      integer;
  v_lanes_max  constant integer := 5000;
  v_lowest     smallint;   -- the priority among whose tenants the list ended
  v_start      text;
begin
  if not exists (select from fairmill.worker w where w.id = worker_id and w.state = 'alive') then
    raise exception 'worker "%" is not alive', worker_id using errcode = 'FM002',
      hint = 'Register it first: select fairmill.register_v1(''' || worker_id || ''', ''{' || queue_name || '}''); then send heartbeats.';
  end if;
  select array_agg(lane.priority order by lane.priority desc, lane.turn), array_agg(lane.tenant order by lane.priority desc, lane.turn), count(*)
    into v_priorities, v_tenants, v_count
  from (select l.priority, l.tenant, random() as turn from fairmill.lanes_v1(queue_name, lanes_max => v_lanes_max) l) lane;
  if v_count = 0 then
    return;
  end if;
  if v_count = v_lanes_max then
    -- More lanes wait than one call looks at. Of the priority at which the list ended, it begins at a random tenant instead and goes
    -- round: otherwise those beyond its end would wait until the others have nothing left. One tenant by chance of those that have
    -- jobs in about ten blocks of the table: cheap however many wait, and a long lane is not more likely than a short one beside it.
    v_lowest := v_priorities[v_count];
    select near.tenant into v_start
    from (select distinct j.tenant
          from fairmill.job j tablesample system (100.0 * 10 / greatest(10, pg_relation_size('fairmill.job') / 8192))
          where j.state = 'ready' and j.queue = queue_name and j.priority = v_lowest) near
    order by random() limit 1;
  end if;
  if v_start is not null then
    with behind as materialized (
      select l.tenant from fairmill.lanes_v1(queue_name, v_lowest, v_start, v_lanes_max) l where l.priority = v_lowest),
    listed as (
      select v_lowest as priority, b.tenant, random() as turn from behind b
      union all
      select k.priority, k.tenant, random() from unnest(v_priorities, v_tenants) as k (priority, tenant)
      where k.priority > v_lowest
         or (k.tenant collate "C") >= v_start and (select count(*) from behind) < v_lanes_max)
    select array_agg(lane.priority order by lane.priority desc, lane.turn), array_agg(lane.tenant order by lane.priority desc, lane.turn), count(*)
      into v_priorities, v_tenants, v_count
    from listed lane;
  end if;
  return query
    select * from fairmill.claim_lanes_v1(
      worker_id, array_fill(queue_name, array[v_count]), v_priorities, v_tenants, array_fill(0::bigint, array[v_count]),
      array_fill(least(tenant_max, greatest(1, ceil(jobs_max::float8 / v_count)::integer)), array[v_count]), kinds, jobs_max);
end
$$;
