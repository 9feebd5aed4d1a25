-- Opens a provider, whatever closed it: an operator, its breaker, or a limit that it named. Jobs that need it go on.
-- Result: false: there is no such provider.
-- Locks: 28 provider (one).
create or replace function fairmill.open_provider_v1(provider text)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.provider p
  set closed_until = null, closed_why = null, closed_note = null, breaker = 'closed',
    breaker_at = case when p.breaker = 'closed' then p.breaker_at else clock_timestamp() end,
    probe_worker = null, probe_until = null, try_until = null, window_at = clock_timestamp(),
    calls = 0, failures = 0, calls_before = 0, failures_before = 0
  where p.name = open_provider_v1.provider;
  if not found then
    return false;
  end if;
  insert into fairmill.provider_event (provider, event) values (open_provider_v1.provider, 'opened');
  perform pg_notify('fairmill', '!provider open ' || open_provider_v1.provider);
  return true;
end
$$;
