-- The schema as the migrations leave it. Made by `npm run schema` from the catalog; a test compares it. Not to be
-- edited: the reasons stand in sql/migrations, the functions in sql/api and sql/inner.

create domain fairmill.label as text collate "C" CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 200)));

create domain fairmill.max_attempts as smallint CHECK ((VALUE >= 1));

create domain fairmill.payload as jsonb CHECK ((pg_column_size(VALUE) <= ((2 * 1024) * 1024)));

create domain fairmill.tag as text CHECK (((VALUE IS NOT NULL) AND ((length(VALUE) >= 1) AND (length(VALUE) <= 64))));

create domain fairmill.tags as fairmill.tag[] CHECK (((cardinality(VALUE) >= 1) AND (cardinality(VALUE) <= 16)));

create domain fairmill.timeout_ms as bigint CHECK ((VALUE >= 0));

create domain fairmill.trace as text CHECK ((VALUE ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'::text));

create domain fairmill.unique_key as text collate "C" CHECK (((length(VALUE) >= 1) AND (length(VALUE) <= 500)));

create domain fairmill.unique_until as text collate "C" CHECK ((VALUE = ANY (ARRAY['started'::text,
  'settled'::text])));

create type fairmill.claimed_job as (
  id bigint,
  lease_no bigint,
  priority smallint,
  tenant text,
  kind text,
  key text,
  attempt smallint,
  crashes smallint,
  max_attempts smallint,
  payload jsonb,
  batch bigint,
  timeout_ms bigint,
  trace text,
  held_back jsonb
);

create type fairmill.new_job as (
  n integer,
  id bigint,
  kind text,
  tenant text,
  queue text,
  priority smallint,
  max_attempts smallint,
  key text,
  payload jsonb,
  run_at timestamp with time zone,
  expire_ms double precision,
  timeout_ms bigint,
  tags text[],
  trace text,
  idempotency_key text,
  unique_key text,
  unique_until text,
  unique_for_ms double precision,
  on_conflict text,
  debounce_max_ms double precision,
  account text,
  amount bigint,
  batch bigint,
  outbox bigint,
  state text,
  limit_key text,
  when_full text,
  slot integer,
  reservation bigint,
  conflict text,
  refusal jsonb,
  uses jsonb
);

create table fairmill.account (
  name text collate "C" not null,
  balance bigint not null default 0,
  reserved bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  constraint account_pkey PRIMARY KEY (name),
  constraint account_balance_fits CHECK (((balance >= 0) AND (reserved >= 0) AND ((balance + reserved) <=
    '9007199254740991'::bigint))),
  constraint account_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200)))
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);

create table fairmill.alert (
  id bigint not null generated always as identity,
  rule text collate "C" not null,
  subject text not null,
  severity text collate "C" not null,
  state text collate "C" not null,
  message text not null,
  value double precision not null,
  threshold double precision not null,
  unit text collate "C" not null,
  since timestamp with time zone not null,
  fired_at timestamp with time zone,
  clear_since timestamp with time zone,
  resolved_at timestamp with time zone,
  constraint alert_pkey PRIMARY KEY (id),
  constraint alert_names_fit CHECK ((((octet_length(rule) >= 1) AND (octet_length(rule) <= 200)) AND
    (octet_length(subject) <= 500))),
  constraint alert_severity_is_known CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text]))),
  constraint alert_state_fits CHECK ( CASE state WHEN 'pending'::text THEN ((fired_at IS NULL) AND (resolved_at IS
    NULL)) WHEN 'firing'::text THEN ((fired_at IS NOT NULL) AND (resolved_at IS NULL)) WHEN 'resolved'::text THEN
    ((fired_at IS NOT NULL) AND (resolved_at IS NOT NULL)) ELSE false END)
);
CREATE INDEX alert_age ON fairmill.alert USING btree (resolved_at) WHERE (state = 'resolved'::text);
CREATE UNIQUE INDEX alert_open ON fairmill.alert USING btree (rule, subject) WHERE (state <> 'resolved'::text);

create table fairmill.alert_event (
  id bigint not null generated always as identity,
  alert_id bigint not null,
  at timestamp with time zone not null default now(),
  change text collate "C" not null,
  value double precision not null,
  silenced boolean not null default false,
  constraint alert_event_pkey PRIMARY KEY (id),
  constraint alert_event_change_is_known CHECK ((change = ANY (ARRAY['fired'::text, 'resolved'::text])))
);
CREATE UNIQUE INDEX alert_event_once ON fairmill.alert_event USING btree (alert_id, change);

create table fairmill.alert_round (
  only_row boolean not null default true,
  round_no bigint not null default 0,
  begun_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  worker text collate "C",
  constraint alert_round_pkey PRIMARY KEY (only_row),
  constraint alert_round_is_one CHECK (only_row)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);

create table fairmill.alert_rule (
  name text collate "C" not null,
  settings jsonb not null,
  changed_at timestamp with time zone not null default now(),
  constraint alert_rule_pkey PRIMARY KEY (name)
);

create table fairmill.alert_silence (
  id bigint not null generated always as identity,
  rule text collate "C",
  subject text,
  until timestamp with time zone not null,
  reason text,
  actor text,
  created_at timestamp with time zone not null default now(),
  constraint alert_silence_pkey PRIMARY KEY (id)
);
CREATE INDEX alert_silence_until ON fairmill.alert_silence USING btree (until);

create table fairmill.audit_event (
  id bigint not null generated always as identity,
  at timestamp with time zone not null default clock_timestamp(),
  actor text collate "C" not null,
  role text collate "C",
  via text collate "C" not null,
  action text collate "C" not null,
  subject text collate "C" not null,
  tenant text collate "C",
  detail jsonb not null default '{}'::jsonb,
  outcome text collate "C",
  error text,
  constraint audit_event_pkey PRIMARY KEY (id),
  constraint audit_event_action_fits CHECK (((octet_length(action) >= 1) AND (octet_length(action) <= 100))),
  constraint audit_event_actor_fits CHECK (((octet_length(actor) >= 1) AND (octet_length(actor) <= 200))),
  constraint audit_event_detail_fits CHECK ((pg_column_size(detail) <= 16384)),
  constraint audit_event_error_fits CHECK ((octet_length(error) <= 8192)),
  constraint audit_event_outcome_known CHECK ((outcome = ANY (ARRAY['done'::text, 'refused'::text, 'failed'::text]))),
  constraint audit_event_subject_fits CHECK (((octet_length(subject) >= 1) AND (octet_length(subject) <= 400))),
  constraint audit_event_via_is_known CHECK ((via = ANY (ARRAY['http'::text, 'cli'::text, 'library'::text])))
);

create table fairmill.batch (
  id bigint not null generated always as identity,
  root bigint not null,
  parent bigint,
  role text collate "C" not null default 'batch'::text,
  state text collate "C" not null,
  tenant text collate "C" not null,
  name text,
  done integer not null default 0,
  dead integer not null default 0,
  cancelled integer not null default 0,
  failed integer not null default 0,
  lost integer not null default 0,
  callbacks jsonb,
  success_job bigint,
  complete_job bigint,
  death_job bigint,
  start_when text collate "C",
  on_failure text collate "C",
  jobs jsonb,
  own_job bigint,
  waits integer not null default 0,
  unmet integer not null default 0,
  fails integer not null default 0,
  window_ms integer,
  max_wait_ms integer,
  poll_ms integer,
  registered_at timestamp with time zone,
  closed_at timestamp with time zone,
  check_at timestamp with time zone,
  cancel_requested_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  idempotency_key text collate "C",
  constraint batch_pkey PRIMARY KEY (id),
  constraint batch_counts_fit CHECK ((LEAST(done, dead, cancelled, failed, lost, waits, unmet, fails) >= 0)),
  constraint batch_idempotency_key_fits CHECK (((length(idempotency_key) >= 1) AND (length(idempotency_key) <= 500))),
  constraint batch_names_fit CHECK ((((octet_length(tenant) >= 1) AND (octet_length(tenant) <= 200)) AND
    (octet_length(name) <= 200))),
  constraint batch_node_fits CHECK ((((role = 'node'::text) = (start_when IS NOT NULL)) AND ((role = 'node'::text) =
    (on_failure IS NOT NULL)) AND ((state <> 'waiting'::text) OR (role = 'node'::text)))),
  constraint batch_role_is_known CHECK ((role = ANY (ARRAY['batch'::text, 'flow'::text, 'node'::text]))),
  constraint batch_rules_are_known CHECK (((start_when = ANY (ARRAY['succeeded'::text, 'settled'::text,
    'failed'::text])) AND (on_failure = ANY (ARRAY['fail'::text, 'skip'::text, 'continue'::text])))),
  constraint batch_state_fits CHECK (((ended_at IS NULL) = (state = ANY (ARRAY['waiting'::text, 'pending'::text])))),
  constraint batch_state_is_known CHECK ((state = ANY (ARRAY['waiting'::text, 'pending'::text, 'succeeded'::text,
    'failed'::text, 'cancelled'::text, 'skipped'::text])))
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 500,
  fillfactor = 70
);
CREATE INDEX batch_complete_job ON fairmill.batch USING btree (complete_job) WHERE (complete_job IS NOT NULL);
CREATE INDEX batch_death_job ON fairmill.batch USING btree (death_job) WHERE (death_job IS NOT NULL);
CREATE UNIQUE INDEX batch_idempotency ON fairmill.batch USING btree (tenant, role, idempotency_key) WHERE
  (idempotency_key IS NOT NULL);
CREATE INDEX batch_inside ON fairmill.batch USING btree (parent, id) WHERE (parent IS NOT NULL);
CREATE INDEX batch_listed ON fairmill.batch USING btree (id) WHERE (role <> 'node'::text);
CREATE INDEX batch_over ON fairmill.batch USING btree (ended_at) WHERE ((parent IS NULL) AND (ended_at IS NOT NULL));
CREATE INDEX batch_success_job ON fairmill.batch USING btree (success_job) WHERE (success_job IS NOT NULL);
CREATE INDEX batch_to_check ON fairmill.batch USING btree (check_at) WHERE (check_at IS NOT NULL);
CREATE INDEX batch_tree ON fairmill.batch USING btree (root) WHERE (root <> id);

create table fairmill.batch_edge (
  before bigint not null,
  after bigint not null,
  constraint batch_edge_pkey PRIMARY KEY (before, after)
);
CREATE INDEX batch_edge_after ON fairmill.batch_edge USING btree (after);

create table fairmill.batch_hold (
  id bigint not null generated always as identity,
  batch bigint not null,
  until timestamp with time zone not null,
  constraint batch_hold_pkey PRIMARY KEY (id)
);
CREATE INDEX batch_hold_batch ON fairmill.batch_hold USING btree (batch, until);

create table fairmill.budget (
  tenant text collate "C" not null,
  per text collate "C" not null,
  provider text collate "C" not null default ''::text,
  kind text collate "C" not null default ''::text,
  currency text collate "C" not null default 'USD'::text,
  time_zone text not null default 'UTC'::text,
  soft numeric,
  hard numeric,
  period_from timestamp with time zone not null,
  period_until timestamp with time zone not null,
  spent numeric not null default 0,
  need numeric,
  refused_kinds text[] not null default '{}'::text[],
  soft_at timestamp with time zone,
  closed_until timestamp with time zone,
  changed_at timestamp with time zone not null default clock_timestamp(),
  constraint budget_pkey PRIMARY KEY (tenant, per, provider, kind, currency),
  constraint budget_amounts_fit CHECK (((soft > (0)::numeric) AND (hard >= (0)::numeric) AND (GREATEST(soft, hard) <=
    ('1000000000000'::bigint)::numeric) AND (soft <= hard))),
  constraint budget_closing_fits CHECK (((closed_until IS NULL) OR ((hard IS NOT NULL) AND (closed_until =
    period_until)))),
  constraint budget_names_fit CHECK ((((octet_length(tenant) >= 1) AND (octet_length(tenant) <= 200)) AND
    (octet_length(provider) <= 200) AND (octet_length(kind) <= 200) AND ((octet_length(currency) >= 3) AND
    (octet_length(currency) <= 10)) AND (octet_length(time_zone) <= 100))),
  constraint budget_per_is_known CHECK ((per = ANY (ARRAY['day'::text, 'month'::text]))),
  constraint budget_period_fits CHECK (((period_from < period_until) AND (spent >= (0)::numeric) AND (need >
    (0)::numeric))),
  constraint budget_says_something CHECK ((COALESCE(soft, hard) IS NOT NULL))
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);
CREATE INDEX budget_closed ON fairmill.budget USING btree (closed_until) WHERE (closed_until IS NOT NULL);

create table fairmill.bulk_action (
  id bigint not null generated always as identity,
  action text collate "C" not null,
  filter jsonb not null,
  actor text collate "C" not null,
  tenant text collate "C",
  reason text,
  state text collate "C" not null default 'running'::text,
  after_id bigint not null default 0,
  up_to_id bigint not null,
  seen bigint not null default 0,
  changed bigint not null default 0,
  skipped bigint not null default 0,
  error text,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  ended_at timestamp with time zone,
  constraint bulk_action_pkey PRIMARY KEY (id),
  constraint bulk_action_action_is_known CHECK ((action = ANY (ARRAY['cancel'::text, 'retry'::text, 'redrive'::text,
    'rerun'::text]))),
  constraint bulk_action_actor_fits CHECK (((octet_length(actor) >= 1) AND (octet_length(actor) <= 200))),
  constraint bulk_action_end_fits CHECK (((ended_at IS NULL) = (state = 'running'::text))),
  constraint bulk_action_filter_fits CHECK (((jsonb_typeof(filter) = 'object'::text) AND (pg_column_size(filter) <=
    262144))),
  constraint bulk_action_reason_fits CHECK (((octet_length(reason) >= 1) AND (octet_length(reason) <= 2000))),
  constraint bulk_action_state_is_known CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'stopped'::text,
    'failed'::text])))
) with (
  fillfactor = 50
);
CREATE INDEX bulk_action_open ON fairmill.bulk_action USING btree (id) WHERE (state = 'running'::text);

create table fairmill.cache_entry (
  name text collate "C" not null,
  key text collate "C" not null,
  value jsonb,
  fresh_until timestamp with time zone not null,
  loader text collate "C",
  loading_until timestamp with time zone,
  constraint cache_entry_pkey PRIMARY KEY (name, key),
  constraint cache_entry_loader_fits CHECK (((loader IS NULL) = (loading_until IS NULL))),
  constraint cache_entry_names_fit CHECK ((((octet_length(name) >= 1) AND (octet_length(name) <= 200)) AND
    (octet_length(key) <= 500))),
  constraint cache_entry_value_fits CHECK (((value IS NULL) OR (pg_column_size(value) <= ((2 * 1024) * 1024))))
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 500,
  fillfactor = 70
);
CREATE INDEX cache_entry_age ON fairmill.cache_entry USING btree (name, fresh_until);
CREATE INDEX cache_entry_stale ON fairmill.cache_entry USING btree (fresh_until);

create table fairmill.channel_end (
  channel text collate "C" not null,
  job jsonb not null,
  constraint channel_end_pkey PRIMARY KEY (channel),
  constraint channel_end_fits CHECK ((((octet_length(channel) >= 1) AND (octet_length(channel) <= 180)) AND (job ?
    'kind'::text) AND (pg_column_size(job) <= 8192)))
);

create table fairmill.child (
  supervisor text collate "C" not null,
  number integer not null,
  pid integer,
  state text collate "C" not null,
  draining boolean not null,
  reason text,
  failures integer not null,
  running integer not null,
  jobs_processed bigint not null,
  cpu double precision not null,
  memory_bytes bigint not null,
  uptime interval not null,
  started_at timestamp with time zone not null,
  changed_at timestamp with time zone not null,
  constraint child_pkey PRIMARY KEY (supervisor, number),
  constraint child_supervisor_fkey FOREIGN KEY (supervisor) REFERENCES fairmill.supervisor(id) ON DELETE CASCADE,
  constraint child_state_is_known CHECK ((state = ANY (ARRAY['idle'::text, 'ready'::text, 'working'::text,
    'failed'::text, 'terminated'::text])))
);

create table fairmill.claim_list (
  worker text collate "C" not null,
  list_no bigint not null,
  ids bigint[] not null,
  constraint claim_list_pkey PRIMARY KEY (worker, list_no)
) with (
  autovacuum_vacuum_cost_delay = 1,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000
);
alter table fairmill.claim_list alter column ids set storage external;

create table fairmill.content (
  storage text collate "C" not null,
  key text collate "C" not null,
  job_id bigint not null,
  put_at timestamp with time zone not null default now(),
  check_at timestamp with time zone not null default (now() + '00:01:00'::interval),
  gone_at timestamp with time zone,
  constraint content_pkey PRIMARY KEY (storage, key, job_id),
  constraint content_names_fit CHECK ((((octet_length(storage) >= 1) AND (octet_length(storage) <= 200)) AND
    ((octet_length(key) >= 1) AND (octet_length(key) <= 500))))
);
CREATE INDEX content_due ON fairmill.content USING btree (storage, check_at);

create table fairmill.credit_entry (
  id bigint not null generated always as identity,
  account text collate "C" not null,
  kind text collate "C" not null,
  amount bigint not null,
  reservation_id bigint,
  job_id bigint,
  key text collate "C",
  reason text,
  created_at timestamp with time zone not null default clock_timestamp(),
  returned bigint,
  constraint credit_entry_pkey PRIMARY KEY (id),
  constraint credit_entry_amount_fits CHECK (((amount >= 1) AND (amount <= '1000000000000'::bigint))),
  constraint credit_entry_is_whole CHECK ( CASE WHEN (kind = ANY (ARRAY['capture'::text, 'release'::text])) THEN
    ((reservation_id IS NOT NULL) AND (job_id IS NOT NULL)) WHEN (kind = 'reservation'::text) THEN ((reservation_id IS
    NULL) AND (job_id IS NOT NULL)) WHEN (kind = 'refund'::text) THEN ((reservation_id IS NULL) AND (job_id IS NOT
    NULL) AND (key IS NOT NULL)) ELSE ((reservation_id IS NULL) AND (job_id IS NULL)) END),
  constraint credit_entry_kind_is_known CHECK ((kind = ANY (ARRAY['grant'::text, 'reservation'::text, 'capture'::text,
    'release'::text, 'refund'::text]))),
  constraint credit_entry_returned_fits CHECK (((returned IS NULL) OR ((kind = 'capture'::text) AND ((returned >= 1)
    AND (returned <= amount)))))
);
CREATE INDEX credit_entry_account ON fairmill.credit_entry USING btree (account, ((id + 0)));
CREATE UNIQUE INDEX credit_entry_end ON fairmill.credit_entry USING btree (reservation_id) WHERE (reservation_id IS NOT
  NULL);
CREATE UNIQUE INDEX credit_entry_key ON fairmill.credit_entry USING btree (account, key) WHERE (key IS NOT NULL);

create table fairmill.credit_pending (
  entry_id bigint not null,
  account text collate "C" not null,
  ended bigint not null,
  released bigint not null,
  constraint credit_pending_pkey PRIMARY KEY (entry_id)
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 200
);
CREATE INDEX credit_pending_account ON fairmill.credit_pending USING btree (account);

create table fairmill.fleet_sample (
  id bigint not null generated always as identity,
  at timestamp with time zone not null default now(),
  is_more boolean not null default false,
  queues jsonb not null default '{}'::jsonb,
  kinds jsonb not null default '{}'::jsonb,
  tenants jsonb not null default '{}'::jsonb,
  workers jsonb not null default '{}'::jsonb,
  constraint fleet_sample_pkey PRIMARY KEY (id),
  constraint fleet_sample_is_small CHECK (((((pg_column_size(queues) + pg_column_size(kinds)) +
    pg_column_size(tenants)) + pg_column_size(workers)) <= (256 * 1024)))
);
CREATE INDEX fleet_sample_age ON fairmill.fleet_sample USING btree (at);

create table fairmill.idempotency (
  tenant text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  job_id bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_pkey PRIMARY KEY (tenant, kind, key),
  constraint idempotency_key_fits CHECK (((length(key) >= 1) AND (length(key) <= 500)))
);
CREATE INDEX idempotency_age ON fairmill.idempotency USING btree (created_at);

create table fairmill.job (
  id bigint not null generated always as identity,
  lease_no bigint not null default 0,
  priority smallint not null default 0,
  attempt smallint not null default 0,
  crashes smallint not null default 0,
  max_attempts smallint not null default 3,
  state text collate "C" not null,
  queue text collate "C" not null,
  tenant text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C",
  worker text collate "C",
  created_at timestamp with time zone not null default now(),
  run_at timestamp with time zone,
  expire_at timestamp with time zone,
  started_at timestamp with time zone,
  cancel_requested_at timestamp with time zone,
  payload jsonb not null,
  progress jsonb,
  failures jsonb,
  limit_key text collate "C",
  slot integer,
  rate_limited_times integer,
  rate_limited boolean,
  unique_key text collate "C",
  unique_until text collate "C",
  rerun_of bigint,
  reservation bigint,
  outbox bigint,
  batch bigint,
  aside text collate "C",
  released jsonb,
  timeout_ms bigint,
  tags text[],
  trace text,
  turn_no bigint,
  uses jsonb,
  waits_for text collate "C",
  constraint job_pkey PRIMARY KEY (id) with (deduplicate_items = off),
  constraint job_fits CHECK (((state = COALESCE(aside, CASE WHEN (worker IS NULL) THEN 'ready'::text ELSE
    'running'::text END)) AND ((worker IS NULL) = (started_at IS NULL)) AND CASE WHEN (aside IS NULL) THEN ((slot IS
    NULL) OR (limit_key IS NOT NULL)) WHEN (aside = 'scheduled'::text) THEN ((worker IS NULL) AND (run_at IS NOT NULL)
    AND ((slot IS NULL) OR (limit_key IS NOT NULL))) ELSE ((aside = 'blocked'::text) AND (worker IS NULL) AND
    (limit_key IS NOT NULL) AND (slot IS NULL)) END AND ((attempt >= crashes) AND (attempt <= lease_no)) AND
    ((unique_key IS NULL) = (unique_until IS NULL))))
) with (
  autovacuum_analyze_scale_factor = 0.2,
  autovacuum_vacuum_cost_delay = 1,
  autovacuum_vacuum_insert_scale_factor = 0.5,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000,
  fillfactor = 45
);
CREATE INDEX job_batch ON fairmill.job USING btree (batch, id) WHERE (batch IS NOT NULL);
CREATE INDEX job_blocked ON fairmill.job USING btree (limit_key, priority DESC, id) WHERE (aside = 'blocked'::text);
CREATE INDEX job_cancelling ON fairmill.job USING btree (id) WHERE (cancel_requested_at IS NOT NULL);
CREATE INDEX job_expiring ON fairmill.job USING btree (expire_at, id) WHERE (expire_at IS NOT NULL);
CREATE INDEX job_lane ON fairmill.job USING btree (fairmill.level_v1(queue, (priority)::integer), tenant,
  COALESCE(turn_no, id)) WITH (deduplicate_items=off) WHERE (aside IS NULL);
CREATE INDEX job_rate_limited ON fairmill.job USING btree (limit_key, run_at) WHERE ((aside = 'scheduled'::text) AND
  rate_limited);
CREATE INDEX job_rerun ON fairmill.job USING btree (rerun_of) WHERE (rerun_of IS NOT NULL);
CREATE INDEX job_scheduled ON fairmill.job USING btree (run_at, id) WHERE (aside = 'scheduled'::text);
CREATE UNIQUE INDEX job_slot ON fairmill.job USING btree (limit_key, slot) WITH (deduplicate_items=off) WHERE (slot IS
  NOT NULL);
CREATE UNIQUE INDEX job_unique ON fairmill.job USING btree (tenant, kind, unique_key) WHERE (unique_key IS NOT NULL);
CREATE INDEX job_waits_for ON fairmill.job USING btree (waits_for, run_at) WHERE ((aside = 'scheduled'::text) AND
  (waits_for IS NOT NULL));

create table fairmill.job_history (
  id bigint not null,
  lease_no bigint not null,
  priority smallint not null,
  attempt smallint not null,
  crashes smallint not null,
  max_attempts smallint not null,
  state text collate "C" not null,
  queue text collate "C" not null,
  tenant text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C",
  worker text collate "C",
  created_at timestamp with time zone not null,
  run_at timestamp with time zone,
  expire_at timestamp with time zone,
  started_at timestamp with time zone,
  ended_at timestamp with time zone not null,
  payload jsonb not null,
  progress jsonb,
  failures jsonb,
  result jsonb,
  error jsonb,
  limit_key text collate "C",
  rate_limited_times integer,
  rerun_of bigint,
  reservation bigint,
  outbox bigint,
  batch bigint,
  timeout_ms bigint,
  tags text[],
  trace text,
  uses jsonb,
  constraint job_history_pkey PRIMARY KEY (id, ended_at),
  constraint job_history_done_was_run CHECK (((state <> 'done'::text) OR (worker IS NOT NULL))),
  constraint job_history_state_is_ended CHECK ((state = ANY (ARRAY['done'::text, 'dead'::text, 'cancelled'::text])))
) partition by RANGE (ended_at);
CREATE INDEX job_history_batch ON ONLY fairmill.job_history USING btree (batch, id) WHERE (batch IS NOT NULL);
CREATE INDEX job_history_cancelled ON ONLY fairmill.job_history USING btree (id) WHERE (state = 'cancelled'::text);
CREATE INDEX job_history_dead ON ONLY fairmill.job_history USING btree (id) WHERE (state = 'dead'::text);
CREATE INDEX job_history_rerun ON ONLY fairmill.job_history USING btree (rerun_of) WHERE (rerun_of IS NOT NULL);

create table fairmill.job_history_rest partition of fairmill.job_history default;
CREATE INDEX job_history_rest_age ON fairmill.job_history_rest USING btree (ended_at, id);

create table fairmill.job_log (
  job_id bigint not null,
  id bigint not null generated always as identity,
  at timestamp with time zone not null,
  level text collate "C" not null,
  attempt smallint not null,
  bytes integer not null,
  line jsonb not null,
  cut boolean not null default false,
  constraint job_log_pkey PRIMARY KEY (job_id, id),
  constraint job_log_level_is_known CHECK ((level = ANY (ARRAY['debug'::text, 'info'::text, 'warn'::text,
    'error'::text]))),
  constraint job_log_line_fits CHECK (((bytes >= 0) AND (pg_column_size(line) <= (64 * 1024))))
);
CREATE INDEX job_log_age ON fairmill.job_log USING btree (at);

create table fairmill.key_limit (
  kind text collate "C" not null,
  per text collate "C" not null default 'key'::text,
  max_running integer,
  when_full text collate "C" not null default 'wait'::text,
  rate_limit integer,
  rate_per_ms bigint,
  rate_how text collate "C",
  rate_at text collate "C",
  constraint key_limit_pkey PRIMARY KEY (kind),
  constraint key_limit_kind_fits CHECK (((octet_length(kind) >= 1) AND (octet_length(kind) <= 200))),
  constraint key_limit_max_running_fits CHECK (((max_running >= 1) AND (max_running <= 10000))),
  constraint key_limit_per_is_known CHECK ((per = ANY (ARRAY['key'::text, 'tenant'::text, 'kind'::text]))),
  constraint key_limit_rate_fits CHECK ( CASE WHEN (rate_limit IS NULL) THEN (COALESCE((rate_per_ms)::text, rate_how,
    rate_at) IS NULL) ELSE COALESCE((((rate_limit >= 1) AND (rate_limit <= 1000000)) AND ((rate_per_ms >= 1) AND
    (rate_per_ms <= '2592000000'::bigint)) AND (rate_how = ANY (ARRAY['window'::text, 'uniform'::text])) AND (rate_at =
    ANY (ARRAY['start'::text, 'enqueue'::text]))), false) END),
  constraint key_limit_when_full_is_known CHECK ((when_full = ANY (ARRAY['wait'::text, 'refuse'::text])))
);
CREATE INDEX key_limit_at_start ON fairmill.key_limit USING btree (kind) WHERE (rate_at = 'start'::text);

create table fairmill.key_limit_report (
  id bigint not null generated always as identity,
  kind text collate "C" not null,
  reported_at timestamp with time zone not null,
  adopted boolean not null default false,
  per text collate "C" not null,
  max_running integer,
  when_full text collate "C" not null,
  rate_limit integer,
  rate_per_ms bigint,
  rate_how text collate "C",
  rate_at text collate "C",
  kind_max_running integer,
  constraint key_limit_report_pkey PRIMARY KEY (id),
  constraint key_limit_report_kind_fits CHECK (((octet_length(kind) >= 1) AND (octet_length(kind) <= 200))),
  constraint key_limit_report_kind_max_running_fits CHECK (((kind_max_running >= 0) AND (kind_max_running <= 1000000))),
  constraint key_limit_report_max_running_fits CHECK (((max_running >= 1) AND (max_running <= 10000))),
  constraint key_limit_report_per_is_known CHECK ((per = ANY (ARRAY['key'::text, 'tenant'::text, 'kind'::text]))),
  constraint key_limit_report_rate_fits CHECK ( CASE WHEN (rate_limit IS NULL) THEN (COALESCE((rate_per_ms)::text,
    rate_how, rate_at) IS NULL) ELSE COALESCE((((rate_limit >= 1) AND (rate_limit <= 1000000)) AND ((rate_per_ms >= 1)
    AND (rate_per_ms <= '2592000000'::bigint)) AND (rate_how = ANY (ARRAY['window'::text, 'uniform'::text])) AND
    (rate_at = ANY (ARRAY['start'::text, 'enqueue'::text]))), false) END),
  constraint key_limit_report_when_full_is_known CHECK ((when_full = ANY (ARRAY['wait'::text, 'refuse'::text])))
);
CREATE INDEX key_limit_report_new ON fairmill.key_limit_report USING btree (kind) WHERE (NOT adopted);
CREATE INDEX key_limit_report_order ON fairmill.key_limit_report USING btree (kind, reported_at, id);

create table fairmill.limit_setting (
  scope text collate "C" not null,
  name text collate "C" not null,
  weight double precision not null default 1,
  max_running integer,
  rate_limit integer,
  rate_per_ms bigint,
  rate_how text collate "C",
  rate_at text collate "C",
  paused_at timestamp with time zone,
  changed_at timestamp with time zone not null default now(),
  set_max_running integer,
  defined_max_running integer,
  paused_until timestamp with time zone,
  constraint limit_setting_pkey PRIMARY KEY (scope, name),
  constraint limit_setting_max_running_fits CHECK (((max_running >= 0) AND (max_running <= 1000000))),
  constraint limit_setting_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200))),
  constraint limit_setting_pause_fits CHECK (((paused_until IS NULL) OR ((paused_at IS NOT NULL) AND
    isfinite(paused_until)))),
  constraint limit_setting_rate_fits CHECK ( CASE WHEN (rate_limit IS NULL) THEN (COALESCE((rate_per_ms)::text,
    rate_how, rate_at) IS NULL) ELSE COALESCE((((rate_limit >= 1) AND (rate_limit <= 1000000)) AND ((rate_per_ms >= 1)
    AND (rate_per_ms <= '2592000000'::bigint)) AND (rate_how = ANY (ARRAY['window'::text, 'uniform'::text])) AND
    (rate_at = ANY (ARRAY['start'::text, 'enqueue'::text]))), false) END),
  constraint limit_setting_scope_is_known CHECK ((scope = ANY (ARRAY['queue'::text, 'kind'::text, 'tenant'::text]))),
  constraint limit_setting_weight_fits CHECK ((((weight >= (0.01)::double precision) AND (weight <= (1000)::double
    precision)) AND ((weight = (1)::double precision) OR (scope = 'tenant'::text))))
);
CREATE INDEX limit_setting_at_enqueue ON fairmill.limit_setting USING btree (scope, name) WHERE (rate_at =
  'enqueue'::text);
CREATE INDEX limit_setting_at_start ON fairmill.limit_setting USING btree (scope, name) WHERE ((paused_at IS NOT NULL)
  OR (max_running IS NOT NULL) OR (rate_at = 'start'::text));
CREATE INDEX limit_setting_pause_end ON fairmill.limit_setting USING btree (paused_until) WHERE (paused_until IS NOT
  NULL);
CREATE INDEX limit_setting_weighted ON fairmill.limit_setting USING btree (scope, name) WHERE (weight <> (1)::double
  precision);

create table fairmill.meter (
  use text collate "C" not null,
  scope text collate "C" not null,
  name text collate "C" not null,
  spent_at timestamp with time zone[],
  spent integer[],
  recheck boolean not null default false,
  used_at timestamp with time zone not null default now(),
  running_ids bigint[],
  owed bigint,
  constraint meter_pkey PRIMARY KEY (use, scope, name),
  constraint meter_owed_fits CHECK ((owed > 0))
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);
alter table fairmill.meter alter column running_ids set storage external;
CREATE INDEX meter_idle ON fairmill.meter USING btree (used_at);
CREATE INDEX meter_recheck ON fairmill.meter USING btree (name) WHERE recheck;

create table fairmill.metric_sample (
  id bigint not null generated always as identity,
  name text collate "C" not null,
  label text collate "C" not null default ''::text,
  at timestamp with time zone not null default now(),
  count integer not null default 1,
  sum double precision not null,
  max double precision not null,
  constraint metric_sample_pkey PRIMARY KEY (id),
  constraint metric_sample_count_fits CHECK ((count >= 1)),
  constraint metric_sample_names_fit CHECK ((((octet_length(name) >= 1) AND (octet_length(name) <= 100)) AND
    (octet_length(label) <= 200)))
);
CREATE INDEX metric_sample_age ON fairmill.metric_sample USING btree (at);
CREATE INDEX metric_sample_name ON fairmill.metric_sample USING btree (name, at);

create table fairmill.migration (
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migration_pkey PRIMARY KEY (name)
);
CREATE TRIGGER migration_guard BEFORE INSERT ON fairmill.migration FOR EACH ROW EXECUTE FUNCTION
  fairmill.guard_ledger();

create table fairmill.named_limit (
  id bigint not null generated always as identity,
  name text collate "C" not null,
  windows jsonb not null,
  reported_at timestamp with time zone not null,
  constraint named_limit_pkey PRIMARY KEY (id),
  constraint named_limit_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200))),
  constraint named_limit_windows_fit CHECK (((jsonb_typeof(windows) = 'array'::text) AND ((jsonb_array_length(windows)
    >= 1) AND (jsonb_array_length(windows) <= 20))))
);
CREATE INDEX named_limit_order ON fairmill.named_limit USING btree (name, reported_at DESC, id DESC);

create table fairmill.outbox (
  id bigint not null generated always as identity,
  tenant text collate "C" not null,
  channel text collate "C" not null,
  idempotency_key text collate "C" not null,
  payload jsonb not null,
  order_key text collate "C",
  status text collate "C" not null default 'pending'::text,
  job_id bigint,
  waiting jsonb,
  recheck boolean not null default false,
  attempts jsonb not null default '[]'::jsonb,
  answer jsonb,
  created_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  reference text,
  constraint outbox_pkey PRIMARY KEY (id),
  constraint outbox_key UNIQUE (tenant, channel, idempotency_key),
  constraint outbox_names_fit CHECK ((((octet_length(tenant) >= 1) AND (octet_length(tenant) <= 200)) AND
    ((octet_length(channel) >= 1) AND (octet_length(channel) <= 180)) AND ((length(idempotency_key) >= 1) AND
    (length(idempotency_key) <= 500)) AND ((octet_length(order_key) >= 1) AND (octet_length(order_key) <= 200)))),
  constraint outbox_payload_fits CHECK ((pg_column_size(payload) <= ((2 * 1024) * 1024))),
  constraint outbox_reference_fits CHECK (((octet_length(reference) >= 1) AND (octet_length(reference) <= 200))),
  constraint outbox_status_fits CHECK ( CASE status WHEN 'pending'::text THEN (ended_at IS NULL) WHEN 'sending'::text
    THEN ((ended_at IS NULL) AND (job_id IS NOT NULL)) WHEN 'sent'::text THEN (ended_at IS NOT NULL) WHEN
    'failed'::text THEN (ended_at IS NOT NULL) WHEN 'skipped'::text THEN (ended_at IS NOT NULL) WHEN 'unknown'::text
    THEN (ended_at IS NOT NULL) ELSE false END),
  constraint outbox_waiting_fits CHECK (((waiting IS NULL) OR ((status = 'pending'::text) AND (job_id IS NULL) AND
    (order_key IS NOT NULL))))
) with (
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 1000
);
CREATE INDEX outbox_age ON fairmill.outbox USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (status <>
  'unknown'::text));
CREATE UNIQUE INDEX outbox_head ON fairmill.outbox USING btree (tenant, channel, order_key) WHERE ((order_key IS NOT
  NULL) AND (ended_at IS NULL) AND (waiting IS NULL));
CREATE INDEX outbox_recheck ON fairmill.outbox USING btree (id) WHERE recheck;
CREATE INDEX outbox_unsent ON fairmill.outbox USING btree (status, id) WHERE (status <> 'sent'::text);
CREATE INDEX outbox_waiting ON fairmill.outbox USING btree (tenant, channel, order_key, id) WHERE (waiting IS NOT
  NULL);

create table fairmill.pause_exception (
  job_id bigint not null,
  lease_no bigint not null,
  queue text collate "C" not null,
  requested_at timestamp with time zone not null default clock_timestamp(),
  constraint pause_exception_pkey PRIMARY KEY (job_id)
);
CREATE INDEX pause_exception_queue ON fairmill.pause_exception USING btree (queue, requested_at);

create table fairmill.pool (
  name text collate "C" not null,
  settings jsonb not null default '{}'::jsonb,
  desired integer,
  decided_at timestamp with time zone,
  decide_every interval,
  leader text collate "C",
  leader_until timestamp with time zone,
  constraint pool_pkey PRIMARY KEY (name),
  constraint pool_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200)))
);

create table fairmill.provider (
  name text collate "C" not null,
  per_second double precision,
  in_flight integer,
  in_flight_before integer,
  timeout_ms bigint not null,
  breaker_rate double precision not null,
  breaker_calls integer not null,
  breaker_window_ms bigint not null,
  breaker_open_ms bigint not null,
  currency text collate "C" not null,
  defined_at timestamp with time zone not null default now(),
  breaker text collate "C" not null default 'closed'::text,
  breaker_at timestamp with time zone not null default now(),
  probe_no bigint not null default 0,
  probe_worker text collate "C",
  probe_until timestamp with time zone,
  closed_until timestamp with time zone,
  closed_why text collate "C",
  closed_note text,
  try_until timestamp with time zone,
  crowded_until timestamp with time zone,
  next_start_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  window_at timestamp with time zone not null default now(),
  calls integer not null default 0,
  failures integer not null default 0,
  calls_before integer not null default 0,
  failures_before integer not null default 0,
  constraint provider_pkey PRIMARY KEY (name),
  constraint provider_breaker_fits CHECK (((breaker_rate > (0)::double precision) AND (breaker_rate <= (1)::double
    precision) AND (breaker_calls >= 1) AND (breaker_window_ms >= 1) AND (breaker_open_ms >= 1) AND (timeout_ms >= 1))),
  constraint provider_breaker_is_known CHECK ((breaker = ANY (ARRAY['closed'::text, 'open'::text, 'half-open'::text]))),
  constraint provider_closing_fits CHECK ((((closed_until IS NULL) = (closed_why IS NULL)) AND ((breaker =
    'closed'::text) OR (closed_until IS NOT NULL)) AND COALESCE((closed_why = ANY (ARRAY['breaker'::text,
    'rate-limit'::text, 'hand'::text])), true))),
  constraint provider_has_one_probe CHECK ((((breaker = 'half-open'::text) = (probe_worker IS NOT NULL)) AND
    ((probe_worker IS NULL) = (probe_until IS NULL)))),
  constraint provider_limits_fit CHECK (((per_second > (0)::double precision) AND (per_second <= (100000)::double
    precision) AND ((in_flight >= 1) AND (in_flight <= 100000)))),
  constraint provider_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200)))
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 20
);
CREATE INDEX provider_closed ON fairmill.provider USING btree (name) WHERE ((closed_until IS NOT NULL) OR
  (crowded_until IS NOT NULL));

create table fairmill.provider_charge (
  id text collate "C" not null,
  job_id bigint not null,
  provider text collate "C" not null,
  tenant text collate "C" not null,
  kind text collate "C" not null,
  worker text collate "C" not null,
  day date not null,
  currency text collate "C" not null,
  cost numeric not null,
  state text collate "C" not null default 'begun'::text,
  begun_at timestamp with time zone not null default clock_timestamp(),
  ended_at timestamp with time zone,
  constraint provider_charge_pkey PRIMARY KEY (id),
  constraint provider_charge_cost_fits CHECK (((cost >= (0)::numeric) AND (cost <= (1000000000)::numeric) AND ((state
    <> 'void'::text) OR (cost = (0)::numeric)))),
  constraint provider_charge_end_fits CHECK (((state = 'begun'::text) = (ended_at IS NULL))),
  constraint provider_charge_names_fit CHECK (((octet_length(id) >= 1) AND (octet_length(id) <= 200))),
  constraint provider_charge_state_is_known CHECK ((state = ANY (ARRAY['begun'::text, 'paid'::text, 'unknown'::text,
    'void'::text])))
);
CREATE INDEX provider_charge_age ON fairmill.provider_charge USING btree (begun_at);
CREATE INDEX provider_charge_job ON fairmill.provider_charge USING btree (job_id);

create table fairmill.provider_cost (
  day date not null,
  tenant text collate "C" not null,
  provider text collate "C" not null,
  kind text collate "C" not null,
  currency text collate "C" not null,
  calls bigint not null,
  cost numeric not null,
  constraint provider_cost_pkey PRIMARY KEY (day, tenant, provider, kind, currency)
);

create table fairmill.provider_event (
  id bigint not null generated always as identity,
  provider text collate "C" not null,
  at timestamp with time zone not null default clock_timestamp(),
  event text collate "C" not null,
  until timestamp with time zone,
  worker text collate "C",
  detail jsonb,
  constraint provider_event_pkey PRIMARY KEY (id),
  constraint provider_event_is_known CHECK ((event = ANY (ARRAY['tripped'::text, 'probing'::text, 'recovered'::text,
    'probe-failed'::text, 'rate-limited'::text, 'closed'::text, 'opened'::text, 'reset'::text])))
);
CREATE INDEX provider_event_age ON fairmill.provider_event USING btree (at);
CREATE INDEX provider_event_order ON fairmill.provider_event USING btree (provider, id);

create table fairmill.provider_minute (
  provider text collate "C" not null,
  minute timestamp with time zone not null,
  calls integer not null,
  failures integer not null,
  limited integer not null,
  sum_ms double precision not null,
  max_ms double precision not null,
  buckets integer[] not null,
  constraint provider_minute_pkey PRIMARY KEY (provider, minute)
);
CREATE INDEX provider_minute_age ON fairmill.provider_minute USING btree (minute);

create table fairmill.provider_need (
  kind text collate "C" not null,
  chains jsonb not null,
  constraint provider_need_pkey PRIMARY KEY (kind),
  constraint provider_need_fits CHECK ((((octet_length(kind) >= 1) AND (octet_length(kind) <= 200)) AND
    (jsonb_typeof(chains) = 'array'::text)))
);

create table fairmill.provider_share (
  provider text collate "C" not null,
  worker text collate "C" not null,
  permits integer not null,
  waiting integer not null default 0,
  turn_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  served_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint provider_share_pkey PRIMARY KEY (provider, worker),
  constraint provider_share_fits CHECK (((permits >= 0) AND (waiting >= 0)))
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);

create table fairmill.queue (
  name text collate "C" not null,
  rescan_no bigint not null default 0,
  constraint queue_pkey PRIMARY KEY (name)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);

create table fairmill.retention_rule (
  tenant text collate "C" not null default ''::text,
  kind text collate "C" not null default ''::text,
  state text collate "C" not null default ''::text,
  source text collate "C" not null default 'set'::text,
  keep_ms bigint,
  changed_at timestamp with time zone not null default now(),
  constraint retention_rule_pkey PRIMARY KEY (tenant, kind, state, source),
  constraint retention_rule_keep_fits CHECK (((keep_ms >= 60000) AND (keep_ms <= '3153600000000'::bigint))),
  constraint retention_rule_names_fit CHECK (((octet_length(tenant) <= 200) AND (octet_length(kind) <= 200))),
  constraint retention_rule_says_whose CHECK (((tenant <> ''::text) OR (kind <> ''::text) OR (state <> ''::text))),
  constraint retention_rule_source_is_known CHECK ((source = ANY (ARRAY['set'::text, 'declared'::text]))),
  constraint retention_rule_state_is_known CHECK ((state = ANY (ARRAY[''::text, 'done'::text, 'dead'::text,
    'cancelled'::text])))
);

create table fairmill.retention_walk (
  part text collate "C" not null,
  keep_ms bigint not null,
  next_block bigint not null default 0,
  begun_at timestamp with time zone not null default now(),
  moved_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  removed bigint not null default 0,
  remaining bigint not null default 0,
  busy bigint not null default 0,
  is_last boolean not null default false,
  constraint retention_walk_pkey PRIMARY KEY (part, keep_ms),
  constraint retention_walk_counts_fit CHECK ((LEAST(next_block, removed, remaining, busy) >= 0))
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);

create table fairmill.scale_decision (
  id bigint not null generated always as identity,
  pool text collate "C" not null,
  supervisor text collate "C" not null,
  action text collate "C" not null,
  current integer not null,
  wanted integer not null,
  target integer not null,
  reason text not null,
  inputs jsonb not null,
  at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  times integer not null default 1,
  constraint scale_decision_pkey PRIMARY KEY (id),
  constraint scale_decision_pool_fkey FOREIGN KEY (pool) REFERENCES fairmill.pool(name) ON DELETE CASCADE,
  constraint scale_decision_action_is_known CHECK ((action = ANY (ARRAY['up'::text, 'down'::text,
    'suppressed'::text]))),
  constraint scale_decision_changes_something CHECK (((action = 'suppressed'::text) = (target = current)))
);
CREATE INDEX scale_decision_pool ON fairmill.scale_decision USING btree (pool, id);

create table fairmill.schedule (
  name text collate "C" not null,
  cron text not null,
  timezone text not null,
  job jsonb not null,
  missed_max integer not null default 0,
  jitter_ms bigint not null default 0,
  fingerprint text not null,
  next_at timestamp with time zone not null,
  not_before timestamp with time zone,
  last_tick_at timestamp with time zone,
  last_job_id bigint,
  last_error jsonb,
  paused_at timestamp with time zone,
  revision bigint not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  moved_at timestamp with time zone not null default clock_timestamp(),
  edited_at timestamp with time zone,
  constraint schedule_pkey PRIMARY KEY (name),
  constraint schedule_jitter_fits CHECK (((jitter_ms >= 0) AND (jitter_ms <= '3153600000000'::bigint))),
  constraint schedule_job_fits CHECK ((pg_column_size(job) <= (((2 * 1024) * 1024) + 8192))),
  constraint schedule_job_is_one CHECK (((jsonb_typeof(job) = 'object'::text) AND (job ? 'kind'::text) AND (NOT (job ?|
    '{run_at,delay_ms,idempotency_key}'::text[])))),
  constraint schedule_missed_fits CHECK (((missed_max >= 0) AND (missed_max <= 1000))),
  constraint schedule_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200)))
) with (
  fillfactor = 50
);
CREATE INDEX schedule_due ON fairmill.schedule USING btree (GREATEST(next_at, not_before)) WHERE (paused_at IS NULL);
CREATE INDEX schedule_moved ON fairmill.schedule USING btree (moved_at) WHERE (paused_at IS NULL);

create table fairmill.schedule_tick (
  schedule text collate "C" not null,
  tick_at timestamp with time zone not null,
  job_id bigint,
  refused jsonb,
  made_at timestamp with time zone not null default clock_timestamp(),
  flow_id bigint,
  constraint schedule_tick_pkey PRIMARY KEY (schedule, tick_at)
);
CREATE INDEX schedule_tick_age ON fairmill.schedule_tick USING btree (made_at);
CREATE INDEX schedule_tick_job ON fairmill.schedule_tick USING btree (job_id) WHERE (job_id IS NOT NULL);

create table fairmill.schema_state (
  only_row boolean not null default true,
  version text not null,
  generation integer not null,
  libraries_from integer not null,
  shipped text not null,
  server_major integer not null,
  objects jsonb,
  migrated_at timestamp with time zone not null default now(),
  constraint schema_state_pkey PRIMARY KEY (only_row),
  constraint schema_state_is_one CHECK (only_row)
);

create table fairmill.step (
  job_id bigint not null,
  name text collate "C" not null,
  kind text collate "C" not null,
  position integer,
  result jsonb,
  bytes integer not null default 0,
  wake_at timestamp with time zone,
  signalled_at timestamp with time zone,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  attempt smallint not null,
  lease_no bigint not null,
  constraint step_pkey PRIMARY KEY (job_id, name),
  constraint step_kind_fits CHECK ( CASE kind WHEN 'run'::text THEN (("position" IS NOT NULL) AND (finished_at IS NOT
    NULL) AND (wake_at IS NULL) AND (signalled_at IS NULL)) WHEN 'sleep'::text THEN (("position" IS NOT NULL) AND
    (wake_at IS NOT NULL) AND (signalled_at IS NULL) AND (result IS NULL)) WHEN 'wait'::text THEN ((("position" IS NOT
    NULL) OR ((signalled_at IS NOT NULL) AND (finished_at IS NULL))) AND ((signalled_at IS NOT NULL) OR (result IS
    NULL))) ELSE false END),
  constraint step_kind_is_known CHECK ((kind = ANY (ARRAY['run'::text, 'sleep'::text, 'wait'::text]))),
  constraint step_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200))),
  constraint step_result_fits CHECK (((result IS NULL) OR (pg_column_size(result) <= ((2 * 1024) * 1024))))
);
CREATE INDEX step_age ON fairmill.step USING btree (started_at);
CREATE INDEX step_awaited ON fairmill.step USING btree (job_id) WHERE ((kind = 'wait'::text) AND (finished_at IS NULL)
  AND (signalled_at IS NULL));

create table fairmill.supervisor (
  id text collate "C" not null,
  pool text collate "C" not null,
  worker text collate "C",
  host text,
  pid integer,
  version text,
  health jsonb not null default '{}'::jsonb,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  report_every interval not null,
  constraint supervisor_pkey PRIMARY KEY (id),
  constraint supervisor_pool_fkey FOREIGN KEY (pool) REFERENCES fairmill.pool(name) ON DELETE CASCADE,
  constraint supervisor_id_fits CHECK (((length(id) >= 1) AND (length(id) <= 200)))
);
CREATE INDEX supervisor_pool ON fairmill.supervisor USING btree (pool);
CREATE INDEX supervisor_seen ON fairmill.supervisor USING btree (seen_at);

create table fairmill.tenant_erasure (
  id bigint not null generated always as identity,
  tenant text collate "C",
  tenant_digest text collate "C" not null,
  account text collate "C",
  cache_prefix text,
  file_prefix text,
  storages text[] not null default '{}'::text[],
  actor text collate "C" not null,
  reason text,
  state text collate "C" not null default 'running'::text,
  phase text collate "C" not null default 'jobs'::text,
  cursor jsonb not null default '{}'::jsonb,
  counts jsonb not null default '{}'::jsonb,
  error text,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  ended_at timestamp with time zone,
  constraint tenant_erasure_pkey PRIMARY KEY (id),
  constraint tenant_erasure_actor_fits CHECK (((octet_length(actor) >= 1) AND (octet_length(actor) <= 200))),
  constraint tenant_erasure_end_fits CHECK (((ended_at IS NOT NULL) = (state = 'done'::text))),
  constraint tenant_erasure_is_nameless CHECK ((((tenant IS NULL) = (state = 'done'::text)) AND ((state <>
    'done'::text) OR (COALESCE(account, cache_prefix, file_prefix) IS NULL)))),
  constraint tenant_erasure_reason_fits CHECK (((octet_length(reason) >= 1) AND (octet_length(reason) <= 2000))),
  constraint tenant_erasure_state_is_known CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'failed'::text])))
) with (
  fillfactor = 50
);
CREATE INDEX tenant_erasure_digest ON fairmill.tenant_erasure USING btree (tenant_digest);
CREATE UNIQUE INDEX tenant_erasure_open ON fairmill.tenant_erasure USING btree (tenant) WHERE (tenant IS NOT NULL);

create table fairmill.tick_slot (
  handler text collate "C" not null,
  slot integer not null,
  worker text collate "C",
  lease_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  used_at timestamp with time zone not null default now(),
  constraint tick_slot_pkey PRIMARY KEY (handler, slot),
  constraint tick_slot_handler_fits CHECK (((octet_length(handler) >= 1) AND (octet_length(handler) <= 200))),
  constraint tick_slot_is_counted CHECK (((slot >= 1) AND (slot <= 1000)))
);

create table fairmill.unique_period (
  tenant text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  job_id bigint not null,
  expires_at timestamp with time zone not null,
  constraint unique_period_pkey PRIMARY KEY (tenant, kind, key),
  constraint unique_period_key_fits CHECK (((length(key) >= 1) AND (length(key) <= 500)))
);
CREATE INDEX unique_period_end ON fairmill.unique_period USING btree (expires_at);

create table fairmill.worker (
  id text collate "C" not null,
  state text collate "C" not null default 'alive'::text,
  lease_until timestamp with time zone not null,
  beat_at timestamp with time zone not null default now(),
  started_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  listening boolean not null default false,
  concurrency integer not null default 1,
  queues text[] not null default '{}'::text[],
  kinds text[],
  host text,
  pid integer,
  version text,
  stats jsonb not null default '{}'::jsonb,
  constraint worker_pkey PRIMARY KEY (id),
  constraint worker_id_fits CHECK (((length(id) >= 1) AND (length(id) <= 200))),
  constraint worker_state_is_known CHECK ((state = ANY (ARRAY['alive'::text, 'lost'::text, 'stopped'::text])))
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200,
  fillfactor = 50
);

create table fairmill.worker_tick_metrics (
  id bigint not null generated always as identity,
  worker_id text collate "C" not null,
  mode text collate "C" not null,
  tick_started_at timestamp with time zone not null,
  interval_ms integer not null,
  tick_duration_ms integer not null,
  budget_ms integer,
  jobs_claimed integer not null default 0,
  jobs_processed integer not null default 0,
  jobs_succeeded integer not null default 0,
  jobs_failed integer not null default 0,
  jobs_dead integer not null default 0,
  jobs_throttled integer not null default 0,
  jobs_released integer not null default 0,
  jobs_yielded integer not null default 0,
  jobs_recovered integer not null default 0,
  leases_lost integer not null default 0,
  lock_contention_count integer not null default 0,
  running integer not null default 0,
  tenant_jobs jsonb not null default '{}'::jsonb,
  queue_depth_at_start integer,
  kinds jsonb not null default '{}'::jsonb,
  tenants jsonb not null default '{}'::jsonb,
  queues jsonb,
  throttled jsonb not null default '[]'::jsonb,
  constraint worker_tick_metrics_pkey PRIMARY KEY (id),
  constraint worker_tick_metrics_counts_fit CHECK ((LEAST(interval_ms, tick_duration_ms, jobs_claimed, jobs_processed,
    jobs_succeeded, jobs_failed, jobs_dead, jobs_throttled, jobs_released, jobs_yielded, jobs_recovered, leases_lost,
    lock_contention_count, running) >= 0)),
  constraint worker_tick_metrics_is_small CHECK ((((((pg_column_size(tenant_jobs) + pg_column_size(kinds)) +
    pg_column_size(tenants)) + COALESCE(pg_column_size(queues), 0)) + pg_column_size(throttled)) <= (256 * 1024))),
  constraint worker_tick_metrics_mode_is_known CHECK ((mode = ANY (ARRAY['tick'::text, 'interval'::text]))),
  constraint worker_tick_metrics_worker_fits CHECK (((length(worker_id) >= 1) AND (length(worker_id) <= 200)))
);
CREATE INDEX worker_tick_metrics_age ON fairmill.worker_tick_metrics USING btree (tick_started_at);
CREATE INDEX worker_tick_metrics_worker ON fairmill.worker_tick_metrics USING btree (worker_id, tick_started_at);

--   id bigint
--   tenant text
--   channel text
--   idempotency_key text
--   message_key text
--   status text
--   sent_at timestamp with time zone
--   worker text
--   created_at timestamp with time zone
--   ended_at timestamp with time zone
create view fairmill.channel_outbox as
SELECT o.id, o.tenant, o.channel, concat_ws('/'::text, o.tenant, o.channel, o.idempotency_key) AS idempotency_key,
  o.idempotency_key AS message_key, o.status, ((taken.attempt ->> 'at'::text))::timestamp with time zone AS sent_at,
  (taken.attempt ->> 'worker'::text) AS worker, o.created_at, o.ended_at
FROM (fairmill.outbox o
LEFT JOIN LATERAL (
SELECT a.attempt
FROM jsonb_array_elements(o.attempts) a(attempt)
WHERE ((a.attempt ->> 'outcome'::text) = 'sent'::text)) taken ON (true));

--   kind text
--   per text
--   max_running integer
--   when_full text
--   rate_limit integer
--   rate_per_ms bigint
--   rate_how text
--   rate_at text
create view fairmill.key_limit_in_force as
SELECT r.kind, r.per, r.max_running, r.when_full, r.rate_limit, r.rate_per_ms, r.rate_how, r.rate_at
FROM fairmill.key_limit r
WHERE (NOT (EXISTS (
SELECT
FROM fairmill.key_limit_report t
WHERE ((t.kind = r.kind) AND (NOT t.adopted) AND (NOT (EXISTS (
SELECT
FROM fairmill.key_limit_report later
WHERE ((later.kind = t.kind) AND (ROW(later.reported_at, later.id) > ROW(t.reported_at, t.id))))))))))
UNION ALL
SELECT t.kind, t.per, t.max_running, t.when_full, t.rate_limit, t.rate_per_ms, t.rate_how, t.rate_at
FROM fairmill.key_limit_report t
WHERE ((NOT t.adopted) AND (COALESCE(t.max_running, t.rate_limit) IS NOT NULL) AND (NOT (EXISTS (
SELECT
FROM fairmill.key_limit_report later
WHERE ((later.kind = t.kind) AND (ROW(later.reported_at, later.id) > ROW(t.reported_at, t.id)))))));

--   scope text
--   name text
--   weight double precision
--   max_running integer
--   set_max_running integer
--   defined_max_running integer
--   rate_limit integer
--   rate_per_ms bigint
--   rate_how text
--   rate_at text
--   paused_at timestamp with time zone
--   paused_until timestamp with time zone
create view fairmill.limit_in_force as
SELECT scope, name, weight, max_running, set_max_running, defined_max_running, rate_limit, rate_per_ms, rate_how,
  rate_at, CASE WHEN (paused_until <= now()) THEN NULL::timestamp with time zone ELSE paused_at END AS paused_at, CASE
  WHEN (paused_until > now()) THEN paused_until ELSE NULL::timestamp with time zone END AS paused_until
FROM fairmill.limit_setting s;

--   worker_id text
--   mode text
--   tick_count bigint
--   avg_tick_duration_ms numeric
--   total_jobs_claimed bigint
--   total_jobs_succeeded bigint
--   total_jobs_failed bigint
--   total_jobs_throttled bigint
--   total_lock_contentions bigint
--   total_leases_lost bigint
--   avg_jobs_per_tick numeric
--   queue_depth integer
--   last_tick_at timestamp with time zone
create view fairmill.worker_health_summary as
SELECT worker_id, (array_agg(mode ORDER BY tick_started_at DESC))[1] AS mode, count(*) AS tick_count,
  round(avg(tick_duration_ms), 1) AS avg_tick_duration_ms, sum(jobs_claimed) AS total_jobs_claimed, sum(jobs_succeeded)
  AS total_jobs_succeeded, sum(jobs_failed) AS total_jobs_failed, sum(jobs_throttled) AS total_jobs_throttled,
  sum(lock_contention_count) AS total_lock_contentions, sum(leases_lost) AS total_leases_lost, round(avg(jobs_claimed),
  1) AS avg_jobs_per_tick, (array_agg(queue_depth_at_start ORDER BY tick_started_at DESC) FILTER (WHERE
  (queue_depth_at_start IS NOT NULL)))[1] AS queue_depth, max(tick_started_at) AS last_tick_at
FROM fairmill.worker_tick_metrics m
WHERE (tick_started_at > (now() - '00:05:00'::interval)) GROUP BY worker_id;
