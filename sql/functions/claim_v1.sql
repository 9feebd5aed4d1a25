-- Claims jobs without a memory of lanes: for clients of any language, and for callers that live for one request only.
-- Every waiting tenant gets an equal part of the batch; where tenants are many, a random starting point gives each its turn.
--   worker_id   a worker registered by register_v1; its heartbeats keep the claimed jobs
--   queue_name  the queue to claim from
--   jobs_max    at most so many jobs;  tenant_max: at most so many of one tenant and priority
--   kinds       only these kinds; null: any
create or replace function fairmill.claim_v1(
  worker_id text, queue_name text default 'default', jobs_max integer default 1, tenant_max integer default 25, kinds text[] default null)
returns table (id bigint, lease_no integer, queue text, priority smallint, tenant text, kind text, key text, attempt smallint,
               crashes smallint, max_attempts smallint, created_at_ms bigint, payload jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_priorities smallint[];
  v_tenants    text[];
  v_count      integer;
begin
  if not exists (select from fairmill.worker w where w.id = worker_id and w.state = 'alive') then
    raise exception 'worker "%" is not alive', worker_id using errcode = 'FM002',
      hint = 'Register it first: select fairmill.register_v1(''' || worker_id || ''', ''{' || queue_name || '}''); then send heartbeats.';
  end if;
  select array_agg(lane.priority order by lane.priority desc, lane.turn), array_agg(lane.tenant order by lane.priority desc, lane.turn), count(*)
    into v_priorities, v_tenants, v_count
  from (select l.priority, l.tenant, random() as turn from fairmill.lanes_v1(queue_name) l) lane;
  if v_count = 0 then
    return;
  end if;
  return query select * from fairmill.claim_lanes_v1(
    worker_id, array_fill(queue_name, array[v_count]), v_priorities, v_tenants, array_fill(0::bigint, array[v_count]),
    array_fill(least(tenant_max, greatest(1, ceil(jobs_max::float8 / v_count)::integer)), array[v_count]), kinds, jobs_max);
end
$$;
