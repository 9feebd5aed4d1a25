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
  with wanted as (
    select u.n, u.key, u.asks, row_number() over (partition by u.key, u.asks order by u.n) as turn
    from (select g.n, g.key, coalesce(g.rule = 'refuse', false) as asks
          from unnest(ns, keys, rules) as g (n, key, rule)) u),
  free as materialized (
    select k.key, rule.max_running, fairmill.free_places_v1(k.key, cardinality(ns)) as slots
    from (select distinct w.key from wanted w where w.asks) k
    cross join lateral (select r.max_running from fairmill.key_rule r where r.kind = k.key::jsonb ->> 0) rule),
  given as (
    select w.n, w.key, w.asks, f.max_running, f.slots[w.turn] as slot
    from wanted w left join free f on f.key = w.key)
  select array_agg(case when g.asks then g.slot end order by g.n),
    jsonb_object_agg(g.n::text, jsonb_build_object('code', 'FAIRMILL_ACTIVE_LIMIT', 'key', g.key, 'limit', g.max_running, 'jobs',
      (select coalesce(jsonb_agg(h.id), '[]') from (select j.id from fairmill.job j where j.limit_key = g.key and j.slot is not null order by j.slot limit 10) h)))
      filter (where g.asks and g.slot is null)
    into slots, refusals
  from given g;
end
$$;
