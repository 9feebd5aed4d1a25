-- The rates of keys: who of these jobs may not start now is put back, scheduled for a moment of its own at which it may; it keeps its
-- attempt and its place, and is counted as throttled. For the others the rate is spent. Part of claim_gated_v1.
--   ids, kinds, keys  the jobs in the order of their turns, locked;  again: who was put back before and whose moment has come
--   at                the moment of the claim
-- Result: ids, an object with those that were put back; told, what the worker is told of them; null: none was.
-- Moments are given one after the other, so that a thousand jobs of a key do not come back at once to be put back again. They are hints:
-- when a job comes back, the rate is asked again. Who comes back too early goes before all others that wait; newcomers queue up behind
-- them, and start at once only if nobody waits.
-- Locks: the meters of the keys, by name.
-- Plan expected: per key a probe of meter and a backward probe of job_throttled.
create or replace function fairmill.key_rates_v1(ids bigint[], kinds text[], keys text[], again boolean[], at timestamptz)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_key   record;
  v_count integer;   -- how many may start
  v_early integer;   -- how many came back too early
  v_step  interval;
  v_from  timestamptz;
  v_late  bigint[] := '{}';
begin
  perform fairmill.lock_meters_v1('start', 'key', array(
    select u.key from unnest(kinds, keys) as u (kind, key) join fairmill.key_rule r on r.kind = u.kind and r.rate_at = 'start' where u.key is not null));
  for v_key in
    select used.*, r.rate_limit, r.rate_per_ms, r.rate_how, m.spent_at, m.spent, last.run_at as last_at
    from (select u.key, u.kind, array_agg(u.id order by not u.again, u.n) as ids, count(*) filter (where u.again)::integer as returned
          from unnest(ids, kinds, keys, again) with ordinality as u (id, kind, key, again, n)
          where u.key is not null group by u.key, u.kind) used
    join fairmill.key_rule r on r.kind = used.kind and r.rate_at = 'start'
    join fairmill.meter m on m.use = 'start' and m.scope = 'key' and m.name = used.key
    left join lateral (select j.run_at from fairmill.job j where j.limit_key = used.key and j.state = 'scheduled' and j.put_back
                       order by j.run_at desc limit 1) last on true
  loop
    -- A little more than the rate asks for, because starts are a little late and are rounded up.
    v_step := v_key.rate_per_ms::float8 / v_key.rate_limit * 129 / 128 * interval '1 millisecond';
    v_count := (select r.room from fairmill.rate_room_v1(v_key.spent_at, v_key.spent, v_key.rate_limit, v_key.rate_per_ms, v_key.rate_how, at) r);
    v_count := least(v_count, case when v_key.last_at is null then cardinality(v_key.ids) else v_key.returned end);
    if v_count > 0 then
      update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent, used_at = date_trunc('hour', at)
      from fairmill.rate_spend_v1(v_key.spent_at, v_key.spent, v_key.rate_limit, v_key.rate_per_ms, v_key.rate_how, at, v_count) s
      where m.use = 'start' and m.scope = 'key' and m.name = v_key.key
      returning m.spent_at, m.spent into v_key.spent_at, v_key.spent;
    end if;
    if v_count < cardinality(v_key.ids) then
      v_from := (select r.open_at from fairmill.rate_room_v1(v_key.spent_at, v_key.spent, v_key.rate_limit, v_key.rate_per_ms, v_key.rate_how, at) r);
      v_early := greatest(0, v_key.returned - v_count);
      update fairmill.job j
      set state = 'scheduled', throttled = coalesce(j.throttled, 0) + 1, put_back = true,
          run_at = case when late.n <= v_early then v_from + (late.n - 1) * v_step
                   else greatest(v_from + v_early * v_step, v_key.last_at + v_step) + (late.n - 1 - v_early) * v_step end
      from unnest(v_key.ids[v_count + 1 :]) with ordinality as late (id, n)
      where j.id = late.id;
      v_late := v_late || v_key.ids[v_count + 1 :];
    end if;
  end loop;
  if cardinality(v_late) = 0 then
    return null;
  end if;
  return jsonb_build_object(
    'ids', (select jsonb_object_agg(l.id::text, true) from unnest(v_late) as l (id)),
    'told', (select jsonb_build_object('late', jsonb_agg(jsonb_build_array(lane.priority, lane.tenant, lane.count)),
                                       'due_in_ms', greatest(0, extract(epoch from min(lane.due_at) - at)::float8 * 1000))
             from (select j.priority, j.tenant, count(*) as count, min(j.run_at) as due_at from fairmill.job j where j.id = any (v_late)
                   group by j.priority, j.tenant) lane));
end
$$;
