-- Sets for how long ended jobs of a kind, a state or a tenant are kept, or of several of these together. Of the rules
-- that fit a job the most specific one holds (keep_of); jobs that none fits are kept for the general age, keepHistory
-- of the workers.
--   keep_ms  at least a minute; null: for ever
-- Locks: none.
create or replace function fairmill.set_retention_v1(keep_ms bigint, kind text default null, state text default null,
  tenant text default null)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  if coalesce(kind, '') = '' and coalesce(state, '') = '' and coalesce(tenant, '') = '' then
    raise exception 'a rule of retention names a kind, a state or a tenant' using errcode = 'FM001',
      hint = 'For all other jobs set keepHistory of the workers.';
  end if;
  if not coalesce(state, '') = any ('{"",done,dead,cancelled}') then
    raise exception 'jobs are not kept in state "%"', state using errcode = 'FM001',
      hint = 'Say done, dead or cancelled.';
  end if;
  if not coalesce(keep_ms between 60000 and 3153600000000, true) then
    raise exception 'keep_ms must lie between a minute and 36500 days' using errcode = 'FM001',
      hint = 'Pass null to keep such jobs for ever.';
  end if;
  insert into fairmill.retention_rule as r (tenant, kind, state, keep_ms)
  values (coalesce(set_retention_v1.tenant, ''), coalesce(set_retention_v1.kind, ''),
    coalesce(set_retention_v1.state, ''), set_retention_v1.keep_ms)
  on conflict (tenant, kind, state, source) do update set keep_ms = excluded.keep_ms, changed_at = now();
  -- What was walked by other rules is walked again.
  delete from fairmill.retention_walk;
end
$$;
