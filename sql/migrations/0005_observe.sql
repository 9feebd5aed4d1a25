-- Logs of jobs, figures that applications report, and alerts. A job that logs nothing pays nothing for any of it.

-- Lines that handlers wrote with ctx.log. No foreign key: the job moves to the history, its lines stay where they are.
create table fairmill.job_log (
  job_id        bigint      not null,
  id            bigint      generated always as identity,
  at            timestamptz not null,               -- by the worker's clock
  level         text collate "C" not null,
  attempt       smallint    not null,
  bytes         integer     not null,               -- of the line as JSON text
  line          jsonb       not null,               -- {"message", "fields"}; sealed where the worker has a codec
  cut           boolean     not null default false, -- says that further lines were not kept
  primary key (job_id, id),
  constraint job_log_level_is_known check (level in ('debug', 'info', 'warn', 'error')),
  constraint job_log_line_fits check (bytes >= 0 and pg_column_size(line) <= 64 * 1024)
);
create index job_log_age on fairmill.job_log (at);

-- Figures that only the application or one process knows: how long a provider took, how much is stored. Sums over a
-- short time each.
create table fairmill.metric_sample (
  id            bigint      generated always as identity primary key,
  name          text collate "C" not null,
  label         text collate "C" not null default '',
  at            timestamptz not null default now(),
  count         integer     not null default 1,
  sum           float8      not null,
  max           float8      not null,
  constraint metric_sample_names_fit check (octet_length(name) between 1 and 100 and octet_length(label) <= 200),
  constraint metric_sample_count_fits check (count >= 1)
);
create index metric_sample_name on fairmill.metric_sample (name, at);
create index metric_sample_age on fairmill.metric_sample (at);

-- Whose round of evaluating alerts it is: one worker at a time, and each round once.
create table fairmill.alert_round (
  only_row      boolean     primary key default true constraint alert_round_is_one check (only_row),
  round_no      bigint      not null default 0,
  begun_at      timestamptz not null default '-infinity',
  worker        text collate "C"
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
insert into fairmill.alert_round default values;

-- The rules as the worker that evaluated last knows them: for those who only look.
create table fairmill.alert_rule (
  name          text collate "C" primary key,
  settings      jsonb       not null,
  changed_at    timestamptz not null default now()
);

create table fairmill.alert (
  id            bigint      generated always as identity primary key,
  rule          text collate "C" not null,
  subject       text        not null,               -- what of: a queue, a kind, a worker
  severity      text collate "C" not null,
  state         text collate "C" not null,
  message       text        not null,
  value         float8      not null,               -- the latest one
  threshold     float8      not null,
  unit          text collate "C" not null,
  since         timestamptz not null,               -- over the threshold since
  fired_at      timestamptz,
  clear_since   timestamptz,                        -- while it fires: below the threshold since
  resolved_at   timestamptz,
  constraint alert_severity_is_known check (severity in ('info', 'warning', 'critical')),
  constraint alert_state_fits check (case state
    when 'pending' then fired_at is null and resolved_at is null
    when 'firing' then fired_at is not null and resolved_at is null
    when 'resolved' then fired_at is not null and resolved_at is not null
    else false end),
  constraint alert_names_fit check (octet_length(rule) between 1 and 200 and octet_length(subject) <= 500)
);
-- A rule has one open alert for each subject.
create unique index alert_open on fairmill.alert (rule, subject) where state <> 'resolved';
create index alert_age on fairmill.alert (resolved_at) where state = 'resolved';

-- Every change, once. What is sent of it carries its id as the key.
create table fairmill.alert_event (
  id            bigint      generated always as identity primary key,
  alert_id      bigint      not null,
  at            timestamptz not null default now(),
  change        text collate "C" not null,
  value         float8      not null,
  silenced      boolean     not null default false, -- on record, but not sent
  constraint alert_event_change_is_known check (change in ('fired', 'resolved'))
);
-- An alert fires once and is resolved once; the next time it is another alert.
create unique index alert_event_once on fairmill.alert_event (alert_id, change);

create table fairmill.alert_silence (
  id            bigint      generated always as identity primary key,
  rule          text collate "C",                   -- null: every rule
  subject       text,                               -- null: every subject
  until         timestamptz not null,
  reason        text,
  actor         text,
  created_at    timestamptz not null default now()
);
create index alert_silence_until on fairmill.alert_silence (until);
