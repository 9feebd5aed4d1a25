-- Gives the free places of keys to whoever is blocked by them, best first: higher priority, then older. Called by everything that
-- frees a place, in the same transaction, and by everything that may add to the blocked.
-- Result: the jobs that became ready. The caller sees to it that workers hear of them: their ids are old.
-- Locks: the keys' meters by name; then blocked jobs, skipping those that somebody else holds (whoever holds one while it waits for a
-- key, as expiry does, would otherwise wait for us). A key whose free place found only such jobs is marked, and upkeep looks again.
-- Plan expected: per key a probe of job_slot for each place and a range of job_blocked; then the rows by the primary key.
create or replace function fairmill.admit_keys_v1(keys text[])
returns table (queue text, priority smallint, tenant text, id bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_ids   bigint[];
  v_slots integer[];
  v_doubt text[];
begin
  perform fairmill.lock_meters_v1('start', 'key', keys);

  with key as materialized (
    select k.name, free.slots
    from (select distinct u.name collate "C" as name from unnest(keys) as u (name)) k
    -- A rule that is gone, or has no limit any more, lets everybody through: one after the other, without a place.
    left join lateral (select r.max_running from fairmill.key_rule r where r.kind = k.name::jsonb ->> 0) rule on true
    cross join lateral (select case when rule.max_running is null then array_fill(null::integer, array[1000])
      else array(select s.slot from generate_series(1, rule.max_running) as s (slot)
                 where not exists (select from fairmill.job h where h.limit_key = k.name and h.slot = s.slot)
                 order by s.slot limit 1000) end as slots) free
    where cardinality(free.slots) > 0),
  chosen as materialized (
    select key.name, next.id, key.slots[next.n] as slot
    from key cross join lateral (
      select best.id, row_number() over () as n
      from (select b.id from fairmill.job b where b.state = 'blocked' and b.limit_key = key.name
            order by b.priority desc, b.id limit cardinality(key.slots) for update skip locked) best) next)
  select array_agg(c.id), array_agg(c.slot),
         -- Places are left: is somebody blocked after all?
         (select array_agg(key.name) from key where key.slots[1] is null or cardinality(key.slots) > (select count(*) from chosen x where x.name = key.name))
    into v_ids, v_slots, v_doubt
  from chosen c;

  if v_ids is not null then
    return query
      update fairmill.job j set state = 'ready', slot = given.slot
      from unnest(v_ids, v_slots) as given (id, slot)
      where j.id = given.id
      returning j.queue, j.priority, j.tenant, j.id;
  end if;

  if v_doubt is not null then
    update fairmill.meter m set recheck = true
    where m.use = 'start' and m.scope = 'key' and m.name = any (v_doubt) and not m.recheck
      and exists (select from fairmill.job b where b.state = 'blocked' and b.limit_key = m.name);
  end if;
end
$$;
