-- Stores what was loaded after take_cached_v1 answered 'load'. Entries beyond entries_max are removed, stale ones
-- first, a hundred a call.
-- Result: false when the entry was forgotten meanwhile or another call loads it now: then the value may be outdated,
-- and is not kept.
-- Locks: 31 cache entry (one, then those that are free).
-- Plan expected: cache_entry by its primary key, and by cache_entry_age from the newest on.
create or replace function fairmill.store_cached_v1(
  name text, key text, loader text, value jsonb, ttl_ms bigint, entries_max integer)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.cache_entry e
  set value = store_cached_v1.value, fresh_until = clock_timestamp() + ttl_ms * interval '1 ms',
    loader = null, loading_until = null
  where e.name = store_cached_v1.name and e.key = store_cached_v1.key and e.loader = store_cached_v1.loader;
  if not found then
    return false;
  end if;
  delete from fairmill.cache_entry e where e.ctid = any (array(
    select x.ctid from fairmill.cache_entry x where x.name = store_cached_v1.name and x.key <> store_cached_v1.key
    order by x.fresh_until desc offset entries_max - 1 limit 100 for update skip locked));
  return true;
end
$$;
