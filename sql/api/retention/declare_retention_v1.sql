-- Makes these the rules of retention that configs of workers declare, instead of those that were declared before. Rules
-- that were set by hand stay, and come first. The rules of the worker that starts last are in force.
--   rules  [{"kind", "state", "tenant", "keep_ms"}, …], each as set_retention_v1 takes it
-- Result: whether something changed.
-- Locks: none of the list: its own table, alone in its transaction.
create or replace function fairmill.declare_retention_v1(rules jsonb)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
declare
  v_changed boolean;
begin
  -- One at a time, or two that start together would find each other's rules twice.
  lock table fairmill.retention_rule in share row exclusive mode;
  with wanted as (
    select coalesce(w.tenant, '') as tenant, coalesce(w.kind, '') as kind, coalesce(w.state, '') as state, w.keep_ms
    from jsonb_to_recordset(rules) as w (tenant text, kind text, state text, keep_ms bigint)),
  gone as (
    delete from fairmill.retention_rule r where r.source = 'declared' and not exists (
      select from wanted w where w.tenant = r.tenant and w.kind = r.kind and w.state = r.state)
    returning r.kind),
  put as (
    insert into fairmill.retention_rule as r (tenant, kind, state, source, keep_ms)
    select w.tenant, w.kind, w.state, 'declared', w.keep_ms from wanted w
    on conflict (tenant, kind, state, source) do update set keep_ms = excluded.keep_ms, changed_at = now()
    where r.keep_ms is distinct from excluded.keep_ms
    returning r.kind)
  select exists (select from gone) or exists (select from put) into v_changed;
  if v_changed then
    delete from fairmill.retention_walk;
  end if;
  return v_changed;
end
$$;
