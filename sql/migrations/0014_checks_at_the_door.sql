-- What comes in with a job is checked once, where it comes in, as a value of one of these types. A check of the table is read, prepared and
-- asked again by every statement that writes a job: by each claim as well, which changes none of this.
set local lock_timeout = '10s';

create domain fairmill.label as text collate "C" check (octet_length(value) between 1 and 200);
create domain fairmill.payload as jsonb check (pg_column_size(value) <= 2 * 1024 * 1024);
create domain fairmill.max_attempts as smallint check (value >= 1);
create domain fairmill.unique_key as text collate "C" check (length(value) between 1 and 500);
create domain fairmill.unique_until as text collate "C" check (value in ('started', 'settled'));
revoke usage on domain fairmill.label, fairmill.payload, fairmill.max_attempts, fairmill.unique_key, fairmill.unique_until from public;

-- What a change of state could break stays with the table, in as few words as it takes: their number is what it costs.
alter table fairmill.job
  drop constraint job_names_fit, drop constraint job_payload_fits, drop constraint job_unique_fits,
  drop constraint job_counts_fit, drop constraint job_slot_fits, drop constraint job_state_fits,
  add constraint job_fits check (
    state = coalesce(aside, case when worker is null then 'ready' else 'running' end)
    and (worker is null) = (started_at is null)
    and case when aside is null then slot is null or limit_key is not null
      when aside = 'scheduled' then worker is null and run_at is not null and (slot is null or limit_key is not null)
      else aside = 'blocked' and worker is null and limit_key is not null and slot is null end
    and attempt between crashes and lease_no
    and (unique_key is null) = (unique_until is null));
