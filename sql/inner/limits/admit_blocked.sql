-- Gives the free slots of keys to whoever is blocked by them, best first: higher priority, then older. Called by
-- everything that frees a slot, in the same transaction, and by everything that may add to the blocked.
-- Result: the jobs that became ready. The caller sees to it that workers hear of them: their ids are old.
-- Locks: 17 key meter, 19 waiting job. A key whose free slot found only such jobs is marked, and upkeep looks again.
-- Places of kinds that refuse are given by those who enqueue, under a lock of their own that a long transaction may
-- hold. For the few jobs that are blocked there (run again by hand, or from before the rule) that lock is needed too:
-- it is tried, not waited for.
-- Plan expected: per key a range of job_slot and a range of job_blocked; then the rows by their ctid (Tid Scan).
create or replace function fairmill.admit_blocked(keys text[])
returns table (queue text, priority smallint, tenant text, id bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_keys  text[];
  v_tried text[];
  v_rows  tid[];     -- of the jobs that get a slot
  v_slots integer[];
  v_unsure text[];
  -- At most so many of one key: the rest is uncertain and has its turn with the next upkeep.
  v_places_max constant integer := 1000;
begin
  perform fairmill.lock_meters('start', 'key', keys);
  -- Taken down before looking: what is found to be doubtful again raises it again.
  if exists (select from fairmill.meter m where m.recheck) then
    update fairmill.meter m set recheck = false where m.recheck and m.use = 'start' and m.scope = 'key'
      and m.name = any (keys);
  end if;

  -- Asked by a subquery for one value, here and below, which cannot be turned into a join: that would read all that is
  -- blocked.
  v_keys := array(select distinct u.name from unnest(keys) as u (name)
                  where (select b.id from fairmill.job b where b.aside = 'blocked'
                    and b.limit_key = u.name limit 1) is not null);
  if cardinality(v_keys) = 0 then
    return;
  end if;
  v_tried := array(select k.name from unnest(v_keys) as k (name)
                   where exists (select from fairmill.key_limit_in_force r where r.kind = k.name::jsonb ->> 0
                     and r.when_full = 'refuse' and r.max_running is not null)
                     and exists (select from fairmill.meter m where m.use = 'enqueue' and m.scope = 'key'
                       and m.name = k.name));
  if cardinality(v_tried) > 0 then
    v_unsure := array(select unnest(v_tried) except select held.name
      from (select m.name from fairmill.meter m where m.use = 'enqueue' and m.scope = 'key'
        and m.name = any (v_tried) for update skip locked) held);
  end if;

  with key as materialized (
    select free.name, free.slots,
      array(select b.ctid from fairmill.job b where b.aside = 'blocked' and b.limit_key = free.name
            order by b.priority desc, b.id limit cardinality(free.slots) for update skip locked) as found
    from fairmill.free_slots(array(select unnest(v_keys) except select unnest(v_unsure)), v_places_max) free)
  select array_agg(chosen.tid) filter (where chosen.tid is not null), array_agg(chosen.slot)
    filter (where chosen.tid is not null),
         v_unsure || array_agg(distinct key.name)
           filter (where cardinality(key.slots) = v_places_max or cardinality(key.slots) > cardinality(key.found))
    into v_rows, v_slots, v_unsure
  from key left join lateral unnest(key.found, key.slots[1 : cardinality(key.found)]) as chosen (tid, slot) on true;

  if v_rows is not null then
    return query
      update fairmill.job j set state = 'ready', aside = null, slot = given.slot
      from unnest(v_rows, v_slots) as given (tid, slot)
      where j.ctid = given.tid
      returning j.queue, j.priority, j.tenant, j.id;
  end if;

  if v_unsure is not null then
    -- Places are left, or could not be given: is somebody blocked after all?
    update fairmill.meter m set recheck = true
    where m.use = 'start' and m.scope = 'key' and m.name = any (v_unsure) and not m.recheck
      and (select b.id from fairmill.job b where b.aside = 'blocked' and b.limit_key = m.name limit 1) is not null;
  end if;
end
$$;
