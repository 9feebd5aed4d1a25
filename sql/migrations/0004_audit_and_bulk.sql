-- What people do: every action with its actor, and actions on all jobs that fit a filter as rows of their own, which
-- any process can go on with.
set local lock_timeout = '10s';

-- Written before the action and completed after it: an outcome that is null means that the process ended in between.
create table fairmill.audit_event (
  id            bigint generated always as identity primary key,
  at            timestamptz not null default clock_timestamp(),
  actor         text collate "C" not null,
  role          text collate "C",
  via           text collate "C" not null,             -- http | cli | library
  action        text collate "C" not null,             -- job.cancel, tenant.set …
  subject       text collate "C" not null,             -- job 17, tenant acme …
  tenant        text collate "C",                      -- whose thing it is, where that is known
  detail        jsonb       not null default '{}',
  outcome       text collate "C",                      -- done | refused | failed
  error         text,
  constraint audit_event_actor_fits check (octet_length(actor) between 1 and 200),
  constraint audit_event_via_is_known check (via in ('http', 'cli', 'library')),
  constraint audit_event_action_fits check (octet_length(action) between 1 and 100),
  constraint audit_event_subject_fits check (octet_length(subject) between 1 and 400),
  constraint audit_event_detail_fits check (pg_column_size(detail) <= 16384),
  constraint audit_event_outcome_known check (outcome in ('done', 'refused', 'failed')),
  constraint audit_event_error_fits check (octet_length(error) <= 8192)
);

create table fairmill.bulk_action (
  id            bigint generated always as identity primary key,
  action        text collate "C" not null,
  filter        jsonb       not null,                  -- as pick_jobs reads it
  actor         text collate "C" not null,
  tenant        text collate "C",                      -- of the credential that started it; null: of no single tenant
  reason        text,
  state         text collate "C" not null default 'running',
  after_id      bigint      not null default 0,        -- jobs up to here are done
  up_to_id      bigint      not null,                  -- the newest job when it began: later ones are not touched
  seen          bigint      not null default 0,
  changed       bigint      not null default 0,
  -- they fitted, and something else was faster or stood against it
  skipped       bigint      not null default 0,
  error         text,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  ended_at      timestamptz,
  constraint bulk_action_action_is_known check (action in ('cancel', 'retry', 'redrive', 'rerun')),
  constraint bulk_action_state_is_known check (state in ('running', 'done', 'stopped', 'failed')),
  constraint bulk_action_end_fits check ((ended_at is null) = (state = 'running')),
  constraint bulk_action_actor_fits check (octet_length(actor) between 1 and 200),
  constraint bulk_action_reason_fits check (octet_length(reason) between 1 and 2000),
  constraint bulk_action_filter_fits check (jsonb_typeof(filter) = 'object' and pg_column_size(filter) <= 262144)
) with (fillfactor = 50);
create index bulk_action_open on fairmill.bulk_action (id) where state = 'running';

-- Jobs that wait for a signal, oldest first: the inbox of approvals. Steps that run or sleep have no entry here.
create index step_awaited on fairmill.step (job_id)
  where kind = 'wait' and finished_at is null and signalled_at is null;
