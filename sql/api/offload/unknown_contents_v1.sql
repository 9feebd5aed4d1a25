-- Of these files of a storage those that belong to no job: of a transaction that was rolled back, or of a process that
-- died before it stored its job. Only of files that are older than any transaction this means that they may be removed.
-- Locks: none.
-- Plan expected: content by its primary key.
create or replace function fairmill.unknown_contents_v1(storage text, keys text[])
returns text[]
language sql stable
as $$
  select coalesce(array_agg(k.key), '{}') from unnest(unknown_contents_v1.keys) as k (key)
  where not exists (select from fairmill.content c
    where c.storage = unknown_contents_v1.storage and c.key = k.key)
$$;
