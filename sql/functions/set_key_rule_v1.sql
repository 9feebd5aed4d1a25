-- Says what limits the keys of a kind have; null: none any more. The library calls it for every definition with limits, once per process.
--   rule  per: key | tenant | kind;  max_running, when_full: wait | refuse;  rate: {limit, per_ms, how, at}
-- Jobs that are enqueued from then on obey it; for those that wait already, only the numbers change. Result: whether it is new.
-- Locks: the rule's row, if it changes.
create or replace function fairmill.set_key_rule_v1(kind text, rule jsonb)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_new fairmill.key_rule;
  v_old fairmill.key_rule;
begin
  v_new := (kind, coalesce(rule ->> 'per', 'key'), (rule ->> 'max_running')::integer, coalesce(rule ->> 'when_full', 'wait'),
    (rule #>> '{rate,limit}')::integer, (rule #>> '{rate,per_ms}')::bigint,
    case when rule #> '{rate,limit}' is not null then coalesce(rule #>> '{rate,how}', 'window') end,
    case when rule #> '{rate,limit}' is not null then coalesce(rule #>> '{rate,at}', 'start') end)::fairmill.key_rule;
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
  -- More places, or none to count: who is blocked is looked at by the next upkeep.
  update fairmill.meter m set recheck = true where m.use = 'start' and m.scope = 'key' and m.name::jsonb ->> 0 = set_key_rule_v1.kind and not m.recheck;
  return true;
end
$$;
