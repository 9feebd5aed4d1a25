-- Forgets an entry of a cache, or all of them (key null). What is being loaded now is not kept either.
--   loader  given: only what this call was to load, because loading failed. An older value stays, and stays stale.
-- Result: how many entries. Of a whole cache at most a thousand a call: call again while there are that many.
-- Locks: 31 cache entry (by key).
-- Plan expected: cache_entry by its primary key.
create or replace function fairmill.forget_cached_v1(name text, key text default null, loader text default null)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_count integer;
begin
  if forget_cached_v1.loader is not null then
    update fairmill.cache_entry e set loader = null, loading_until = null
    where e.name = forget_cached_v1.name and e.key = forget_cached_v1.key and e.loader = forget_cached_v1.loader;
  else
    delete from fairmill.cache_entry e
    where e.name = forget_cached_v1.name and e.key = any (array(
      select x.key from fairmill.cache_entry x
      where x.name = forget_cached_v1.name and (forget_cached_v1.key is null or x.key = forget_cached_v1.key)
      order by x.key limit 1000 for update));
  end if;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
