-- The index of the lanes begins with one number for queue and priority. Every entry is compared with some eight others when it is written;
-- a number is compared in a few nanoseconds, a name and a number behind it take ten times as long.
set local lock_timeout = '10s';

-- The number of a level: queue and priority. Of one queue, the higher level has the higher number; priority 32768 is above them all. Two queues
-- may share numbers, so whoever goes by the number asks for the queue as well.
-- An index stands on it: never to be changed, only to be replaced by another one. Without settings of its own, so that it is inlined.
create function fairmill.level_v1(queue text, priority integer) returns bigint
language sql immutable parallel safe
return (hashtextextended(queue, 0) & -131072) | (priority + 32768);
revoke execute on function fairmill.level_v1(text, integer) from public;

drop index fairmill.job_lane;
create index job_lane on fairmill.job (fairmill.level_v1(queue, priority), tenant, id) with (deduplicate_items = off) where aside is null;
