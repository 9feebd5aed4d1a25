-- Pools of processes: supervisors, their children, and what was decided about how many there should be.
set local lock_timeout = '10s';

-- One row per pool, for all its supervisors. What it says lets desired_workers_v1 answer also when none of them lives.
create table fairmill.pool (
  name          text collate "C" primary key,
  settings      jsonb       not null default '{}',  -- min, max, capacity, target_wait_ms, queues, kinds, mean_run_ms
  desired       integer,                            -- what the last decision wanted, over all hosts
  decided_at    timestamptz,
  decide_every  interval,                           -- an older decision than three of these is nobody's any more
  leader        text collate "C",                   -- the supervisor that scales what they share
  leader_until  timestamptz,
  constraint pool_name_fits check (octet_length(name) between 1 and 200)
);

create table fairmill.supervisor (
  id            text collate "C" primary key,
  pool          text collate "C" not null references fairmill.pool on delete cascade,
  worker        text collate "C",                   -- the worker that claims for it
  host          text,
  pid           integer,
  version       text,
  health        jsonb       not null default '{}',  -- by part: when it last succeeded, and what was restarted
  started_at    timestamptz not null,
  seen_at       timestamptz not null,
  report_every  interval    not null,
  constraint supervisor_id_fits check (length(id) between 1 and 200)
);
create index supervisor_pool on fairmill.supervisor (pool);
create index supervisor_seen on fairmill.supervisor (seen_at);

create table fairmill.child (
  supervisor    text collate "C" not null references fairmill.supervisor on delete cascade,
  number        integer     not null,
  pid           integer,
  state         text collate "C" not null,
  draining      boolean     not null,
  reason        text,                               -- how its last process ended, or why it is being ended
  failures      integer     not null,               -- in a row
  running       integer     not null,
  jobs_processed bigint     not null,
  cpu           float8      not null,               -- 1: one core
  memory_bytes  bigint      not null,
  uptime        interval    not null,
  started_at    timestamptz not null,
  changed_at    timestamptz not null,               -- when its state was last another one
  constraint child_state_is_known check (state in ('idle', 'ready', 'working', 'failed', 'terminated')),
  primary key (supervisor, number)
);

-- What the autoscaler decided, and what it would have decided if nothing had stood against it.
create table fairmill.scale_decision (
  id            bigint      generated always as identity primary key,
  pool          text collate "C" not null references fairmill.pool on delete cascade,
  supervisor    text collate "C" not null,
  action        text collate "C" not null,          -- up | down | suppressed
  current       integer     not null,
  wanted        integer     not null,
  target        integer     not null,
  reason        text        not null,
  inputs        jsonb       not null,
  at            timestamptz not null,
  last_at       timestamptz not null,               -- the same again, up to this time
  times         integer     not null default 1,
  constraint scale_decision_action_is_known check (action in ('up', 'down', 'suppressed')),
  constraint scale_decision_changes_something check ((action = 'suppressed') = (target = current))
);
create index scale_decision_pool on fairmill.scale_decision (pool, id);
