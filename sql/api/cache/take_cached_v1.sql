-- Asks a cache for an entry. Of all callers that find none, or a stale one, one is told to load it.
--   loader   a name of this call, that no other has
--   load_ms  how long it may take to load; another caller may load it afterwards
-- Result: answer 'hit' with the value and for how long it is fresh, 'load' (call store_cached_v1 with the same loader,
-- or forget_cached_v1 when loading failed), or 'wait': another call loads it, for in_ms at most.
-- Locks: 31 cache entry (one).
-- Plan expected: cache_entry by its primary key.
create or replace function fairmill.take_cached_v1(
  name text, key text, loader text, load_ms bigint, out answer text, out value jsonb, out in_ms float8)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_entry record;
begin
  select e.value, e.fresh_until, e.loading_until into v_entry
  from fairmill.cache_entry e where e.name = take_cached_v1.name and e.key = take_cached_v1.key;
  if found and v_entry.fresh_until > clock_timestamp() then
    answer := 'hit';
    value := v_entry.value;
    in_ms := extract(epoch from v_entry.fresh_until - clock_timestamp()) * 1000;
    return;
  end if;
  -- The condition is asked again under the row's lock: of two callers one gets it.
  insert into fairmill.cache_entry as e (name, key, fresh_until, loader, loading_until)
  values (take_cached_v1.name, take_cached_v1.key, '-infinity', take_cached_v1.loader,
    clock_timestamp() + load_ms * interval '1 ms')
  on conflict on constraint cache_entry_pkey do update
  set loader = excluded.loader, loading_until = excluded.loading_until
  where e.fresh_until <= clock_timestamp() and (e.loading_until is null or e.loading_until <= clock_timestamp());
  if found then
    answer := 'load';
    in_ms := load_ms;
    return;
  end if;
  select e.value, e.fresh_until, e.loading_until into v_entry
  from fairmill.cache_entry e where e.name = take_cached_v1.name and e.key = take_cached_v1.key;
  answer := case when v_entry.fresh_until > clock_timestamp() then 'hit' else 'wait' end;
  value := case when answer = 'hit' then v_entry.value end;
  in_ms := greatest(0, extract(epoch from
    case answer when 'hit' then v_entry.fresh_until else v_entry.loading_until end - clock_timestamp()) * 1000);
end
$$;
