-- Steps: parts of a job whose results are kept, so that the next run passes them instead of doing them again.

create table fairmill.step (
  job_id        bigint      not null,             -- no foreign key: the job moves to the history, its steps stay where they are
  name          text collate "C" not null,
  kind          text collate "C" not null,        -- run: a result; sleep: a time; wait: a signal from outside
  position      integer,                          -- the how-manieth call of its run it was; null: a signal that nobody has asked for yet
  result        jsonb,                            -- what the step came to, or the value of the signal; null: nothing
  bytes         integer     not null default 0,   -- of the result, as JSON text
  wake_at       timestamptz,                      -- sleep: when it is over; wait: when waiting ends, null: never
  signalled_at  timestamptz,                      -- wait: when the signal came
  started_at    timestamptz not null,
  finished_at   timestamptz,                      -- when the handler was given it; null: it still waits
  attempt       smallint    not null,
  lease_no      integer     not null,             -- the lease under which it was stored, or began to wait
  primary key (job_id, name),
  constraint step_kind_is_known check (kind in ('run', 'sleep', 'wait')),
  constraint step_name_fits check (octet_length(name) between 1 and 200),
  constraint step_kind_fits check (case kind
    when 'run' then position is not null and finished_at is not null and wake_at is null and signalled_at is null
    when 'sleep' then position is not null and wake_at is not null and signalled_at is null and result is null
    -- Who asks is given what came, or that nothing came.
    when 'wait' then (position is not null or signalled_at is not null and finished_at is null) and (signalled_at is not null or result is null)
    else false end),
  -- The library refuses more than 1 MiB of JSON text; this is the wall for everybody else.
  constraint step_result_fits check (result is null or pg_column_size(result) <= 2 * 1024 * 1024)
);

-- Retention removes them one by one, oldest first.
create index step_age on fairmill.step (started_at);
