-- Those of the given files of a storage that belong to no job: their transaction was rolled back, or their process died
-- before it stored its job. Only a file that is older than any open transaction may be removed for that.
-- Result: their keys.
-- Locks: none.
-- Plan expected: content by its primary key.
create or replace function fairmill.unknown_contents_v1(storage text, keys text[])
returns text[]
language sql stable
as $$
  select coalesce(array_agg(k.key), '{}')
  from unnest(unknown_contents_v1.keys) as k (key)
  where not exists (
    select from fairmill.content c where c.storage = unknown_contents_v1.storage and c.key = k.key)
$$;
