-- Changes the limits of a queue, a kind or a tenant. Fields that are not given stay as they are; null takes a limit
-- away.
--   scope     queue | kind | tenant;  name: of it
--   settings  weight (tenants), max_running, rate: {limit, per_ms, how: window | uniform, at: start | enqueue}, paused:
--             boolean; with paused: true its end, as paused_until (a time) or paused_for_ms (from now); without either
--             it has none. Of set_key_limits_v1 alone: defined_max_running, what the definition of a kind says. The
--             lower cap holds
-- In effect with the commit, for every claim that begins afterwards; running jobs go on. All workers look again. What
-- was spent of a rate counts on, so that setting a rate again does not start it over; but only as far as it is still
-- known: uniform keeps no more than the last start, and a shorter period forgets what is older than it.
-- A cap counts the jobs that run already. Those of claims that are under way now count from the next upkeep on.
-- Locks: 5 limit meter (so that no claim is counting meanwhile), 6 limit setting, 20 queue mark.
create or replace function fairmill.set_limits_v1(scope text, name text, settings jsonb)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_setting fairmill.limit_setting;
  v_rate    jsonb := nullif(settings -> 'rate', 'null');
  v_until   timestamptz;
begin
  perform fairmill.check_fields(settings - 'defined_max_running',
    '{weight,max_running,rate,paused,paused_until,paused_for_ms}', 'settings');
  v_until := coalesce((settings ->> 'paused_until')::timestamptz,
    clock_timestamp() + (settings ->> 'paused_for_ms')::bigint * interval '1 millisecond');
  if v_until is not null and (settings -> 'paused' is distinct from 'true' or not isfinite(v_until)
      or v_until <= clock_timestamp()
      or settings ->> 'paused_until' is not null and settings ->> 'paused_for_ms' is not null) then
    raise exception 'this pause cannot end at %', to_char(v_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
      using errcode = 'FM001', hint = 'Give "paused": true with "paused_until", a time after now by the clock of the '
        'database, or with "paused_for_ms", more than 0; not both.';
  end if;
  perform fairmill.check_rate(v_rate);
  perform fairmill.lock_meters('start', set_limits_v1.scope, array[set_limits_v1.name]);
  insert into fairmill.limit_setting as g (scope, name) values (set_limits_v1.scope, set_limits_v1.name)
  on conflict on constraint limit_setting_pkey do update set changed_at = clock_timestamp()
  returning g.* into v_setting;
  if v_setting.paused_until <= clock_timestamp() then
    v_setting.paused_at := null;
    v_setting.paused_until := null;
  end if;
  if settings ? 'weight' then
    v_setting.weight := coalesce((settings ->> 'weight')::float8, 1);
  end if;
  if settings ? 'max_running' then
    v_setting.set_max_running := (settings ->> 'max_running')::integer;
  end if;
  if settings ? 'defined_max_running' then
    v_setting.defined_max_running := (settings ->> 'defined_max_running')::integer;
  end if;
  v_setting.max_running := least(v_setting.set_max_running, v_setting.defined_max_running);
  if settings ? 'rate' then
    v_setting.rate_limit := (v_rate ->> 'limit')::integer;
    v_setting.rate_per_ms := (v_rate ->> 'per_ms')::bigint;
    v_setting.rate_how := case when v_rate is not null then coalesce(v_rate ->> 'how', 'window') end;
    v_setting.rate_at := case when v_rate is not null then coalesce(v_rate ->> 'at', 'start') end;
  end if;
  if settings ? 'paused' then
    v_setting.paused_at := case when (settings ->> 'paused')::boolean
      then coalesce(v_setting.paused_at, clock_timestamp()) end;
    v_setting.paused_until := v_until;
  end if;
  if v_setting.weight = 1 and coalesce(v_setting.max_running, v_setting.rate_limit) is null
    and v_setting.paused_at is null then
    delete from fairmill.limit_setting g where g.scope = set_limits_v1.scope and g.name = set_limits_v1.name;
  else
    update fairmill.limit_setting g
    set weight = v_setting.weight, max_running = v_setting.max_running, set_max_running = v_setting.set_max_running,
      defined_max_running = v_setting.defined_max_running, rate_limit = v_setting.rate_limit,
      rate_per_ms = v_setting.rate_per_ms, rate_how = v_setting.rate_how, rate_at = v_setting.rate_at,
      paused_at = v_setting.paused_at, paused_until = v_setting.paused_until, changed_at = clock_timestamp()
    where g.scope = set_limits_v1.scope and g.name = set_limits_v1.name;
    perform fairmill.count_running(set_limits_v1.scope, set_limits_v1.name);
  end if;
  perform fairmill.raise_rescan_marks(array(
    select q.name from fairmill.queue q
    union
    select unnest(w.queues) from fairmill.worker w where w.state = 'alive'));
end
$$;
