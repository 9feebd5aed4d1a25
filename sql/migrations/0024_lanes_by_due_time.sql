-- Within a lane the job that has been due longest goes first. A job that was ready when it was stored has its place by its id; one that waited for
-- its time gets a number of the same sequence when that has come, so it lines up behind those that were there by then.
set local lock_timeout = '10s';

-- Null: its place is its id, as of most jobs, which pay nothing for this.
alter table fairmill.job add column turn_no bigint;
drop index fairmill.job_lane;
create index job_lane on fairmill.job (fairmill.level_v1(queue, priority), tenant, coalesce(turn_no, id)) with (deduplicate_items = off) where aside is null;
