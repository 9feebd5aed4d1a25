-- What rarely changes and is asked for often, kept for all processes. A row is an entry, or the place of one that a
-- process is loading. Not logged: after a crash of the server the cache is empty, and is loaded again.
create unlogged table fairmill.cache_entry (
  name          text collate "C" not null,          -- of the cache
  key           text collate "C" not null,
  value         jsonb,                              -- null: it was never loaded
  fresh_until   timestamptz not null,               -- from then on it is loaded again; without a value: the past
  loader        text collate "C",                   -- the call that loads it now
  loading_until timestamptz,                        -- from then on another may load it
  primary key (name, key),
  constraint cache_entry_names_fit check (octet_length(name) between 1 and 200 and octet_length(key) <= 500),
  constraint cache_entry_loader_fits check ((loader is null) = (loading_until is null)),
  constraint cache_entry_value_fits check (value is null or pg_column_size(value) <= 2 * 1024 * 1024)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index cache_entry_age on fairmill.cache_entry (name, fresh_until);
create index cache_entry_stale on fairmill.cache_entry (fresh_until);
