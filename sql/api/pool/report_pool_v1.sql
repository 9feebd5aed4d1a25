-- A supervisor says that it lives, which children it has, and what its pool is set to. Children that it does not name
-- are forgotten, and so are supervisors of any pool that have not been seen for a day.
--   supervisor  {id, worker, host, pid, version, health, started_at_ms, report_every_ms}
--   children    [{number, pid, state, draining, reason, failures, running, jobs_processed, cpu, memory_bytes,
--               uptime_ms, started_at_ms}, …]
--   settings    of the pool, as in its table
-- Result: hosts, how many supervisors of the pool live.
-- Locks: 24 pool, 25 supervisor, 26 child.
-- Plan expected: rows by their primary keys; supervisors by supervisor_pool and supervisor_seen.
create or replace function fairmill.report_pool_v1(pool_name text, supervisor jsonb, children jsonb, settings jsonb,
  out hosts integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at    timestamptz := clock_timestamp();
  v_id    text := supervisor ->> 'id';
  v_epoch constant timestamptz := timestamptz 'epoch';
begin
  insert into fairmill.pool as p (name, settings) values (pool_name, report_pool_v1.settings)
  on conflict (name) do update set settings = excluded.settings where p.settings is distinct from excluded.settings;
  insert into fairmill.supervisor as s (id, pool, worker, host, pid, version, health, started_at, seen_at,
    report_every)
  values (v_id, pool_name, supervisor ->> 'worker', supervisor ->> 'host', (supervisor ->> 'pid')::integer,
    supervisor ->> 'version', coalesce(supervisor -> 'health', '{}'),
    v_epoch + (supervisor ->> 'started_at_ms')::float8 * interval '1 millisecond', v_at,
    (supervisor ->> 'report_every_ms')::float8 * interval '1 millisecond')
  on conflict (id) do update set worker = excluded.worker, health = excluded.health, seen_at = excluded.seen_at,
    report_every = excluded.report_every;

  insert into fairmill.child as c (supervisor, number, pid, state, draining, reason, failures, running, jobs_processed,
    cpu, memory_bytes, uptime, started_at, changed_at)
  select v_id, (g ->> 'number')::integer, (g ->> 'pid')::integer, g ->> 'state', (g ->> 'draining')::boolean,
    g ->> 'reason', (g ->> 'failures')::integer, (g ->> 'running')::integer, (g ->> 'jobs_processed')::bigint,
    (g ->> 'cpu')::float8, (g ->> 'memory_bytes')::bigint, (g ->> 'uptime_ms')::float8 * interval '1 millisecond',
    v_epoch + (g ->> 'started_at_ms')::float8 * interval '1 millisecond', v_at
  from jsonb_array_elements(children) g
  on conflict (supervisor, number) do update set pid = excluded.pid, state = excluded.state,
    draining = excluded.draining, reason = excluded.reason, failures = excluded.failures, running = excluded.running,
    jobs_processed = excluded.jobs_processed, cpu = excluded.cpu, memory_bytes = excluded.memory_bytes,
    uptime = excluded.uptime,
    changed_at = case when c.state = excluded.state then c.changed_at else excluded.changed_at end;
  delete from fairmill.child c
  where c.supervisor = v_id
    and c.number <> all (array(select (g ->> 'number')::integer from jsonb_array_elements(children) g));

  delete from fairmill.supervisor s where s.id = any (array(
    select o.id from fairmill.supervisor o where o.seen_at < v_at - interval '1 day'
    order by o.seen_at limit 10 for update skip locked));
  hosts := (
    select count(*) from fairmill.supervisor s where s.pool = pool_name and s.seen_at > v_at - 3 * s.report_every);
end
$$;
