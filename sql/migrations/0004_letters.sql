-- Dead letters: which job a job is the edited repetition of, and a way along the cancelled ones as there is along the dead.

-- Whoever holds a table for longer makes this fail and be run again, instead of making everybody wait behind it.
set local lock_timeout = '10s';

alter table fairmill.job add column rerun_of bigint;
alter table fairmill.job_history add column rerun_of bigint;

-- From a job to its repetitions. Hardly any job has one, so these are nearly empty.
create index job_rerun on fairmill.job (rerun_of) where rerun_of is not null;
create index job_history_rerun on fairmill.job_history (rerun_of) where rerun_of is not null;

create index job_history_cancelled on fairmill.job_history (id) where state = 'cancelled';

-- A row of the rest by its primary key must not be looked for among all that ended in the same moment, whichever index is chosen.
drop index fairmill.job_history_rest_age;
create index job_history_rest_age on fairmill.job_history_rest (ended_at, id);
