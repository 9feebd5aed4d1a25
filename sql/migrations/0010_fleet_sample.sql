-- What the whole fleet looked like at a moment: what keeps the jobs that wait, and what the workers use. A row a round
-- of evaluating alerts, bounded whatever there is; a job pays nothing for it.

create table fairmill.fleet_sample (
  id            bigint      generated always as identity primary key,
  at            timestamptz not null default now(),
  is_more       boolean     not null default false, -- the counts are lower bounds
  -- name → reason → how many jobs wait for it; the 50 names with most, "" is the rest
  queues        jsonb       not null default '{}',
  kinds         jsonb       not null default '{}',
  tenants       jsonb       not null default '{}',
  workers       jsonb       not null default '{}',  -- worker → {"cpu", "memory"}; "" is the rest, added up
  constraint fleet_sample_is_small check (pg_column_size(queues) + pg_column_size(kinds) + pg_column_size(tenants)
    + pg_column_size(workers) <= 256 * 1024)
);
create index fleet_sample_age on fairmill.fleet_sample (at);
revoke all on fairmill.fleet_sample from public;
