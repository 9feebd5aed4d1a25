-- How many jobs may start now under the settings of one tenant, queue or kind, and what keeps the others. Part of
-- backlog_v1: takes no locks, so it is an estimate. Null: no limit.
-- Plan expected: the limit and its meter by their primary keys, the jobs under its cap by theirs.
create or replace function fairmill.room_left(limit_scope text, limit_name text)
returns jsonb
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_limit fairmill.limit_in_force;
  v_meter fairmill.meter;
  v_cap   integer;
  v_rate  integer;
begin
  -- A job that finds out whether a provider is back may start.
  if limit_scope = 'kind' then
    select c.room into v_cap from fairmill.closed_kinds(array[limit_name], clock_timestamp()) c;
    if found then
      return jsonb_build_object('room', v_cap, 'why', 'provider closed');
    end if;
  end if;
  select * into v_limit from fairmill.limit_in_force s where s.scope = limit_scope and s.name = limit_name;
  if not found
    or v_limit.paused_at is null and v_limit.max_running is null and v_limit.rate_at is distinct from 'start' then
    return null;
  end if;
  if v_limit.paused_at is not null then
    return jsonb_build_object('room', 0, 'why', 'paused');
  end if;
  select * into v_meter from fairmill.meter m where m.use = 'start' and m.scope = limit_scope and m.name = limit_name;
  if v_limit.max_running is not null then
    v_cap := greatest(0, v_limit.max_running - (
      select count(*) from fairmill.job j where j.id = any (v_meter.running_ids) and j.state = 'running'));
  end if;
  if v_limit.rate_at = 'start' then
    v_rate := (
      select r.room from fairmill.rate_room(
        v_meter.spent_at, v_meter.spent, v_limit.rate_limit, v_limit.rate_per_ms, v_limit.rate_how,
        clock_timestamp()) r);
  end if;
  return jsonb_build_object('room', least(v_cap, v_rate),
    'why', case when v_rate is null or v_cap <= v_rate then 'capped' else 'rate-limited' end);
end
$$;
