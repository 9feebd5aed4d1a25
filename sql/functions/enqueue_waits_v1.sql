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
  -- Everything of a key in one row: whatever is joined job by job is quadratic.
  with wanted as materialized (
    select u.key, array_agg(u.n order by u.n) as ns, (select b.id from fairmill.job b where b.aside = 'blocked' and b.limit_key = u.key limit 1) is not null as has_blocked
    from unnest(ns, keys, rules, due) as u (n, key, rule, due)
    where u.rule = 'wait' and u.due and not coalesce(refused ? u.n::text, false) group by u.key),
  given as (
    select turn.n, free.slots[turn.place] as slot,
      -- Who is blocked already goes first: then there is no free place but by an accident that upkeep repairs.
      case when turn.place > cardinality(free.slots) then 'blocked' else 'ready' end as state
    from fairmill.free_places_v1(array(select w.key from wanted w where not w.has_blocked), cardinality(ns)) free
    join wanted w on w.key = free.name
    cross join lateral unnest(w.ns) with ordinality as turn (n, place)
    union all
    select n, null, 'blocked' from wanted w cross join lateral unnest(w.ns) as n where w.has_blocked)
  select array_agg(coalesce(g.slot, u.place) order by u.n), array_agg(g.state order by u.n)
    into slots, states
  from unnest(ns, places) as u (n, place) left join given g on g.n = u.n;
end
$$;
