-- Says what limits the keys of a kind have; null: none any more. The library calls it for every definition with limits, once per process.
--   rule  per: key | tenant | kind;  max_running, when_full: wait | refuse;  rate: {limit, per_ms, how, at}
-- Jobs that are enqueued from then on obey it; for those that wait already, only the numbers change. Result: whether it is new.
-- Locks: if it changes, the rule's row, then the meters of all its keys, by name.
create or replace function fairmill.set_key_rule_v1(kind text, rule jsonb)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_new     fairmill.key_rule;
  v_old     fairmill.key_rule;
  v_rate    jsonb := nullif(rule -> 'rate', 'null');
  v_unknown text;
  v_prefix  text;
begin
  select k into v_unknown from jsonb_object_keys(nullif(rule, 'null')) k where k not in ('per', 'max_running', 'when_full', 'rate') limit 1;
  if v_unknown is not null then
    raise exception 'unknown setting "%"', v_unknown using errcode = 'FM001', hint = 'Known: per, max_running, when_full, rate.';
  end if;
  perform fairmill.check_rate_v1(v_rate);
  v_new := (kind, coalesce(rule ->> 'per', 'key'), (rule ->> 'max_running')::integer, coalesce(rule ->> 'when_full', 'wait'),
    (v_rate ->> 'limit')::integer, (v_rate ->> 'per_ms')::bigint, case when v_rate is not null then coalesce(v_rate ->> 'how', 'window') end,
    case when v_rate is not null then coalesce(v_rate ->> 'at', 'start') end)::fairmill.key_rule;
  select * into v_old from fairmill.key_rule r where r.kind = set_key_rule_v1.kind;
  if v_old is not distinct from v_new or v_old.kind is null and v_new.max_running is null and v_new.rate_limit is null then
    return false;
  end if;
  if v_new.max_running is null and v_new.rate_limit is null then
    delete from fairmill.key_rule r where r.kind = set_key_rule_v1.kind;
  else
    insert into fairmill.key_rule values (v_new.*)
    on conflict on constraint key_rule_pkey do update
    set per = excluded.per, max_running = excluded.max_running, when_full = excluded.when_full, rate_limit = excluded.rate_limit,
        rate_per_ms = excluded.rate_per_ms, rate_how = excluded.rate_how, rate_at = excluded.rate_at;
  end if;
  -- More places, or none to count: who is blocked is looked at by the next upkeep. All keys are locked first and looked at afterwards, in
  -- a statement of its own: whoever counted under one of these locks by the old rule has committed then, and nothing is overlooked.
  if v_old.max_running is not null then
    v_prefix := rtrim(jsonb_build_array(set_key_rule_v1.kind)::text, ']');
    perform fairmill.lock_meters_v1('start', 'key', array(
      select x.name from fairmill.meter x where x.use = 'start' and x.scope = 'key' and starts_with(x.name, v_prefix)));
    update fairmill.meter m set recheck = true
    where m.use = 'start' and m.scope = 'key' and starts_with(m.name, v_prefix) and not m.recheck
      and (select b.id from fairmill.job b where b.aside = 'blocked' and b.limit_key = m.name limit 1) is not null;
  end if;
  return true;
end
$$;
