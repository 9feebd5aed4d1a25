-- Places of kinds whose jobs wait for one: a due job takes a free place and is ready, or is blocked. Part of gates_at_enqueue_v1, for
-- transactions that end with the enqueue.
--   ns, keys, rules, due  the jobs: position, limit_key, what its rule asks for, whether its time has come
--   refused               those that are not stored;  places: those given already, to be kept
-- Result: place and state of each job; a state of null is for the caller to decide.
-- Locks: meters of use start of these keys, by name: until they are given up with the commit, no settle can free a place unseen.
create or replace function fairmill.enqueue_waits_v1(ns integer[], keys text[], rules text[], due boolean[], refused jsonb, places integer[],
  out slots integer[], out states text[])
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  perform fairmill.lock_meters_v1('start', 'key', array(select u.key from unnest(keys, rules, due) as u (key, rule, due) where u.rule = 'wait' and u.due));
  with wanted as (
    select u.n, u.key, u.place, coalesce(u.rule = 'wait' and u.due and not coalesce(refused ? u.n::text, false), false) as asks
    from unnest(ns, keys, rules, due, places) as u (n, key, rule, due, place)),
  turns as (select w.*, row_number() over (partition by w.key, w.asks order by w.n) as turn from wanted w),
  free as materialized (
    select k.key,
      -- Who is blocked already goes first: then there is no free place but by an accident that upkeep repairs.
      case when (select b.id from fairmill.job b where b.state = 'blocked' and b.limit_key = k.key limit 1) is not null then '{}'::integer[]
      else fairmill.free_places_v1(k.key, cardinality(ns)) end as slots
    from (select distinct w.key from wanted w where w.asks) k)
  select array_agg(case when t.asks then f.slots[t.turn] else t.place end order by t.n),
         array_agg(case when not t.asks then null when t.turn > cardinality(f.slots) then 'blocked' else 'ready' end order by t.n)
    into slots, states
  from turns t left join free f on f.key = t.key;
end
$$;
