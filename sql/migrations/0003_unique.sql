-- Unique jobs: a key that one live job of a tenant and kind holds, and keys that hold for a period.

-- Whoever holds the table for longer makes this fail and be run again, instead of making everybody wait behind it.
set local lock_timeout = '10s';

alter table fairmill.job
  add column unique_key text collate "C",
  add column unique_until text collate "C",       -- started: until its first claim; settled: until it ends
  add constraint job_unique_fits check (case when unique_key is null then unique_until is null
    else length(unique_key) between 1 and 500 and coalesce(unique_until in ('started', 'settled'), false) end);

-- The guard: no two jobs hold the same key. A claim raises lease_no and nothing lowers it, so a key that holds until the start is
-- let go by the claim itself, and the retry of a job that was started cannot collide with its successor.
create unique index job_unique on fairmill.job (tenant, kind, unique_key)
  where unique_key is not null and (unique_until = 'settled' or lease_no = 0);

-- Keys that hold for a period, whatever becomes of the job.
create table fairmill.unique_period (
  tenant        text collate "C" not null,
  kind          text collate "C" not null,
  key           text collate "C" not null,
  job_id        bigint      not null,
  expires_at    timestamptz not null,
  constraint unique_period_key_fits check (length(key) between 1 and 500),
  primary key (tenant, kind, key)
);
create index unique_period_end on fairmill.unique_period (expires_at);

-- Their results have a column more, and enqueue_v1 has more arguments: PostgreSQL replaces neither in place.
do $$
declare
  v_old regprocedure;
begin
  for v_old in select p.oid::regprocedure from pg_proc p
    where p.pronamespace = 'fairmill'::regnamespace and p.proname in ('enqueue_v1', 'enqueue_many_v1')
  loop
    execute format('drop function %s', v_old);
  end loop;
end
$$;
