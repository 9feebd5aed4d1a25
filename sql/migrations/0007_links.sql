-- What a job belongs to: the outbox row that it delivers, the batch of which it is a member. Null for most jobs, and then free of cost.

-- Whoever holds the table for longer makes this fail and be run again, instead of making everybody wait behind it.
set local lock_timeout = '10s';

alter table fairmill.job add column outbox bigint, add column batch bigint;
alter table fairmill.job_history add column outbox bigint, add column batch bigint;
