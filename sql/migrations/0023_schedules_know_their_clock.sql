-- When the next tick of a schedule was computed, by the database's clock. A time in the future says that the clock has gone back since: the
-- tick may lie as far ahead as the clock was wrong, and is computed again (reset_schedule_v1).
set local lock_timeout = '10s';

alter table fairmill.schedule add column moved_at timestamptz not null default clock_timestamp();
-- Upkeep asks for the latest one.
create index schedule_moved on fairmill.schedule (moved_at) where paused_at is null;
