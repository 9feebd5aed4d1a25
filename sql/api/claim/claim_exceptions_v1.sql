-- Claims jobs of a queue that may start although something of theirs is paused (run_now_v1). All other limits hold. The
-- claim of a lane says when there are some (held_back: exceptions), so that no worker asks in vain.
--   durable, list_no  as claim_lanes_v1 takes them
-- Result: the claimed jobs. The wish is for one start: it is fenced by the lease number that the job had.
-- Locks: as claim_limited.
-- Plan expected: the wishes of the queue by their index, then jobs by the primary key.
create or replace function fairmill.claim_exceptions_v1(
  worker_id text, queue_name text, kinds text[] default null, jobs_max integer default 1, durable boolean default true,
  list_no bigint default null)
returns setof fairmill.claimed_job
language plpgsql
as $$
#variable_conflict use_column
declare
  v_ids        bigint[];
  v_priorities smallint[];
  v_tenants    text[];
begin
  if not exists (select from fairmill.worker w where w.id = worker_id and w.state = 'alive') then
    raise exception 'worker "%" is not alive', worker_id using errcode = 'FM002',
      hint = 'Register it with register_v1 and send heartbeats; a worker that was declared lost needs a new name.';
  end if;
  select array_agg(w.id), array_agg(w.priority), array_agg(w.tenant) into v_ids, v_priorities, v_tenants
  from (select j.id, j.priority, j.tenant from fairmill.pause_exception e
        cross join lateral (select x.id, x.priority, x.tenant from fairmill.job x where x.id = e.job_id
          and x.lease_no = e.lease_no and x.state = 'ready' and (kinds is null or x.kind = any (kinds)) offset 0) j
        where e.queue = queue_name order by e.requested_at limit least(jobs_max, 100)) w;
  if v_ids is null then
    return;
  end if;
  return query
    select c.* from fairmill.claim_limited(worker_id, array_fill(queue_name, array[cardinality(v_ids)]), v_priorities,
      v_tenants, array_fill(0::bigint, array[cardinality(v_ids)]), array_fill(1, array[cardinality(v_ids)]), kinds,
      jobs_max, durable, list_no, v_ids, despite_pause => true) c
    where c.id is not null;
  delete from fairmill.pause_exception e where e.job_id = any (v_ids)
    and exists (select from fairmill.job j where j.id = e.job_id and j.lease_no <> e.lease_no);
end
$$;
