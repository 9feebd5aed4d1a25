-- Where the data of a tenant lies, and what erasing does with it: the one list. A test compares it with the catalog, so
-- that a new table with a tenant's data cannot be left out.
--   condition  which rows, with $1 the tenant, $2 its account, $3 the beginning of its keys in caches
--   change     null: they are removed; otherwise what is written over them, with $4 a name that says nothing
-- What must stay for the books stays without a name: movements of credits, and what calls cost.
-- Locks: none.
create or replace function fairmill.erased_tables(out n bigint, out part text, out condition text, out change text)
returns setof record
language sql stable
as $$
  select row_number() over (order by t.place, t.part), t.part, t.condition, t.change
  from (
    select 1 as place, d.part, 'x.tenant = $1' as condition, null as change from fairmill.history_days() d
    union all values
    (2, 'outbox', 'x.tenant = $1', null),
    (2, 'batch', 'x.tenant = $1', null),
    (3, 'batch_edge', 'not exists (select from fairmill.batch b where b.id = x.before)', null),
    (3, 'batch_hold', 'not exists (select from fairmill.batch b where b.id = x.batch)', null),
    (2, 'idempotency', 'x.tenant = $1', null),
    (2, 'unique_period', 'x.tenant = $1', null),
    (2, 'schedule', '$1 in (x.job ->> ''tenant'', x.job -> ''flow'' ->> ''tenant'')', null),
    (2, 'limit_setting', 'x.scope = ''tenant'' and x.name = $1', null),
    (2, 'retention_rule', 'x.tenant = $1', null),
    (2, 'budget', 'x.tenant = $1', null),
    -- The name of a key's or a named limit's meter is JSON, with the tenant or the key in second place.
    (2, 'meter', 'x.scope = ''tenant'' and x.name = $1 or x.scope in (''key'', ''limit'') and x.name like ''[%''
      and x.name::jsonb ->> 1 = $1', null),
    (2, 'metric_sample', 'x.label = $1', null),
    (2, 'alert', 'x.subject in ($1, ''tenant '' || $1)', null),
    (3, 'alert_event', 'not exists (select from fairmill.alert a where a.id = x.alert_id)', null),
    (2, 'alert_silence', 'x.subject in ($1, ''tenant '' || $1)', null),
    (2, 'cache_entry', 'x.key = $1 or starts_with(x.key, $3)', null),
    (2, 'worker_tick_metrics', 'x.tenant_jobs ? $1 or x.tenants ? $1 or strpos(x.throttled::text,
      to_json($1)::text) > 0', 'tenant_jobs = x.tenant_jobs - $1, tenants = x.tenants - $1,
      throttled = case when strpos(x.throttled::text, to_json($1)::text) > 0 then ''[]'' else x.throttled end'),
    (2, 'fleet_sample', 'x.tenants ? $1', 'tenants = x.tenants - $1'),
    (2, 'account', 'x.name = $2', 'name = $4'),
    (2, 'credit_entry', 'x.account = $2', 'account = $4, reason = null,
      key = case when x.kind = ''refund'' then x.key end'),
    (2, 'credit_pending', 'x.account = $2', 'account = $4'),
    (2, 'provider_charge', 'x.tenant = $1', 'tenant = $4'),
    (2, 'provider_cost', 'x.tenant = $1', 'tenant = $4'),
    -- The files follow: the next look at them finds their jobs gone.
    (2, 'content', 'starts_with(x.key, ''fairmill/'' || encode(sha256(convert_to($1, ''UTF8'')), ''hex'') || ''/'')
      and x.check_at > now()', 'check_at = now()'),
    (2, 'audit_event', 'x.tenant = $1 or x.subject = ''tenant '' || $1', 'tenant = null, subject = $4, detail = ''{}'',
      error = null'),
    (2, 'bulk_action', 'x.tenant = $1 or x.filter ->> ''tenant'' = $1', 'tenant = null, filter = ''{}'', reason = null,
      state = case when x.state = ''running'' then ''stopped'' else x.state end,
      ended_at = coalesce(x.ended_at, now())')) as t (place, part, condition, change)
$$;
