-- Places of kinds that refuse: a job holds one from its enqueue to its end. Part of gates_at_enqueue_v1.
--   ns, keys, rules  the jobs: position, limit_key, what its rule asks for
-- Result: the place of each job (null: none), and by position who stood in the way.
-- Locks: meters of use enqueue of these keys, by name. The unique index on places holds also where the isolation level of the caller's
-- transaction hides a job of somebody else: then the insert fails, and nothing is stored.
create or replace function fairmill.enqueue_places_v1(ns integer[], keys text[], rules text[], out slots integer[], out refusals jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  perform fairmill.lock_meters_v1('enqueue', 'key', array(select u.key from unnest(keys, rules) as u (key, rule) where u.rule = 'refuse'));
  -- Everything of a key in one row: whatever is joined job by job is quadratic.
  with wanted as materialized (
    select u.key, array_agg(u.n order by u.n) as ns from unnest(ns, keys, rules) as u (n, key, rule) where u.rule = 'refuse' group by u.key),
  given as (
    select turn.n, free.name as key, free.max_running, free.slots[turn.place] as slot
    from fairmill.free_places_v1(array(select w.key from wanted w), cardinality(ns)) free
    join wanted w on w.key = free.name
    cross join lateral unnest(w.ns) with ordinality as turn (n, place)),
  held as materialized (
    select g.key, (select coalesce(jsonb_agg(h.id), '[]') from (select j.id from fairmill.job j where j.limit_key = g.key and j.slot is not null order by j.slot limit 10) h) as jobs
    from (select distinct x.key from given x where x.slot is null) g)
  select array_agg(g.slot order by u.n),
    jsonb_object_agg(u.n::text, jsonb_build_object('code', 'FAIRMILL_ACTIVE_LIMIT', 'key', g.key, 'limit', g.max_running, 'jobs', held.jobs))
      filter (where g.n is not null and g.slot is null)
    into slots, refusals
  from unnest(ns) as u (n) left join given g on g.n = u.n left join held on held.key = g.key;
end
$$;
