-- A pause may have an end. It ends by the database's clock: readers compare it with now, and no worker has to act.

alter table fairmill.limit_setting add column paused_until timestamptz;
alter table fairmill.limit_setting add constraint limit_setting_pause_fits
  check (paused_until is null or (paused_at is not null and isfinite(paused_until)));
-- Which pause ends next? And has one ended that upkeep has not cleared yet?
create index limit_setting_pause_end on fairmill.limit_setting (paused_until) where paused_until is not null;

-- limit_setting as it holds now: a pause whose end has passed is none. Between its end and the next upkeep, which
-- clears it, the table still has it.
create view fairmill.limit_in_force as
  select s.scope, s.name, s.weight, s.max_running, s.set_max_running, s.defined_max_running, s.rate_limit,
    s.rate_per_ms, s.rate_how, s.rate_at, case when s.paused_until <= now() then null else s.paused_at end as paused_at,
    case when s.paused_until > now() then s.paused_until end as paused_until
  from fairmill.limit_setting s;
