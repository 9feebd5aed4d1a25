-- Forgets everything that was learned of a provider: what closed it, results, its pace, and permits of workers that are
-- not alive. Permits of living workers stay, because their calls are under way.
-- Result: false: there is no such provider.
-- Locks: 28 provider (one), 29 provider share (after their provider).
create or replace function fairmill.reset_provider_v1(provider text)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.provider p set next_start_at = '-infinity', crowded_until = null
  where p.name = reset_provider_v1.provider;
  if not found then
    return false;
  end if;
  perform fairmill.open_provider_v1(reset_provider_v1.provider);
  delete from fairmill.provider_share s
  where s.provider = reset_provider_v1.provider and not exists (
    select from fairmill.worker w
    where w.id = s.worker and w.state = 'alive' and w.lease_until > clock_timestamp());
  insert into fairmill.provider_event (provider, event) values (reset_provider_v1.provider, 'reset');
  return true;
end
$$;
