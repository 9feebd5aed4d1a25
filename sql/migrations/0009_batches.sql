-- Batches: jobs that end together, with callbacks; nested, and as the nodes of a flow.

-- Whoever holds the table for longer makes this fail and be run again, instead of making everybody wait behind it.
set local lock_timeout = '10s';

-- They answer more than before.
drop function if exists fairmill.end_jobs_v1(bigint[], text, jsonb, boolean);
drop function if exists fairmill.expire_rows_v1(integer);
drop function if exists fairmill.recover_rows_v1(integer, integer);
drop function if exists fairmill.pass_on_v1(text[], text[]);
drop function if exists fairmill.tick_upkeep_v1(integer, integer, interval);
drop function if exists fairmill.claim_v1(text, text, integer, integer, text[], float8);
drop function if exists fairmill.claim_lanes_v1(text, text[], smallint[], text[], bigint[], integer[], text[], integer, boolean);
drop function if exists fairmill.claim_gated_v1(text, text[], smallint[], text[], bigint[], integer[], text[], integer, boolean);

-- A batch is over when it has no live member, no batch inside that is not over, and nobody who holds it open. A flow is a batch whose nodes
-- are batches; a node waits for the nodes before it, then enqueues its jobs.
create table fairmill.batch (
  id            bigint generated always as identity primary key,
  root          bigint      not null,             -- the outermost batch around it, or itself: that row is the lock of the whole tree
  parent        bigint,                           -- the batch that is not over before this one
  role          text collate "C" not null default 'batch',
  state         text collate "C" not null,
  tenant        text collate "C" not null,
  name          text,
  -- Members that ended, by the tree's lock.
  done          integer     not null default 0,
  dead          integer     not null default 0,
  cancelled     integer     not null default 0,
  failed        integer     not null default 0,   -- batches inside that failed, where that fails this one
  lost          integer     not null default 0,   -- holds that ran out: somebody did not finish adding
  callbacks     jsonb,                            -- success, complete, death: a job each, as enqueue_many_v1 takes it
  success_job   bigint,
  complete_job  bigint,
  death_job     bigint,
  -- Of a node.
  start_when    text collate "C",
  on_failure    text collate "C",
  jobs          jsonb,                            -- what it enqueues when it starts
  own_job       bigint,                           -- the first of them
  waits         integer     not null default 0,   -- nodes before it that are not over
  unmet         integer     not null default 0,   -- nodes before it that ended without letting it go on
  fails         integer     not null default 0,   -- nodes before it that failed
  -- Coordination with producers from outside.
  window_ms     integer,                          -- no new member for so long, and it is over; null: at once
  max_wait_ms   integer,
  poll_ms       integer,
  registered_at timestamptz,                      -- when the newest member that ended was added
  closed_at     timestamptz,                      -- since when it only waits for more members
  check_at      timestamptz,                      -- upkeep looks at it then
  cancel_requested_at timestamptz,
  created_at    timestamptz not null default now(),
  started_at    timestamptz,
  ended_at      timestamptz,
  constraint batch_role_is_known check (role in ('batch', 'flow', 'node')),
  constraint batch_state_is_known check (state in ('waiting', 'pending', 'succeeded', 'failed', 'cancelled', 'skipped')),
  constraint batch_state_fits check ((ended_at is null) = (state in ('waiting', 'pending'))),
  constraint batch_node_fits check ((role = 'node') = (start_when is not null) and (role = 'node') = (on_failure is not null) and (state <> 'waiting' or role = 'node')),
  constraint batch_rules_are_known check (start_when in ('succeeded', 'settled', 'failed') and on_failure in ('fail', 'skip', 'continue')),
  constraint batch_counts_fit check (least(done, dead, cancelled, failed, lost, waits, unmet, fails) >= 0),
  constraint batch_names_fit check (octet_length(tenant) between 1 and 200 and octet_length(name) <= 200)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

create index batch_inside on fairmill.batch (parent, id) where parent is not null;
-- Lists: newest first, without the nodes, of which there may be millions.
create index batch_listed on fairmill.batch (id) where role <> 'node';
create index batch_to_check on fairmill.batch (check_at) where check_at is not null;
-- Retention removes whole trees, oldest first.
create index batch_over on fairmill.batch (ended_at) where parent is null and ended_at is not null;
-- Its condition is another than that of batch_inside, so that nobody who looks for a parent takes this one.
create index batch_tree on fairmill.batch (root) where root <> id;

-- From the job of a callback to its batch.
create index batch_success_job on fairmill.batch (success_job) where success_job is not null;
create index batch_complete_job on fairmill.batch (complete_job) where complete_job is not null;
create index batch_death_job on fairmill.batch (death_job) where death_job is not null;

-- A node and one that waits for it.
create table fairmill.batch_edge (
  before        bigint      not null,
  after         bigint      not null,
  primary key (before, after)
);
create index batch_edge_after on fairmill.batch_edge (after);

-- Somebody who adds from outside holds the batch open until he says that he is done, or until his time is up.
create table fairmill.batch_hold (
  id            bigint generated always as identity primary key,
  batch         bigint      not null,
  until         timestamptz not null
);
create index batch_hold_batch on fairmill.batch_hold (batch, until);

create index job_batch on fairmill.job (batch, id) where batch is not null;
create index job_history_batch on fairmill.job_history (batch, id) where batch is not null;
