-- How many calls a worker may have in flight at a provider. Part of sync_provider_v1, under its lock.
--   share   the worker's own as it was;  held: calls that it has in flight;  wanted: calls that wait there
-- Result: permits, the calls in flight included; others_wait: other workers have calls that wait.
-- Where there is not enough for all, a worker gets an equal part, at least one; one that has had its turn leaves what
-- becomes free to workers that have none.
create or replace function fairmill.provider_permits(p fairmill.provider, share fairmill.provider_share, held integer,
  wanted integer, at timestamptz, out permits integer, out others_wait boolean)
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_others record;
  v_free   integer;
  v_part   integer;
begin
  select coalesce(sum(s.permits), 0)::integer as permits, count(*) filter (where s.waiting > 0) as waiting,
    count(*) filter (where s.waiting > 0 and s.permits = 0 and s.served_at < share.served_at) as hungry
    into v_others
  from fairmill.provider_share s
  where s.provider = p.name and s.worker <> share.worker;
  others_wait := v_others.waiting > 0;
  if p.in_flight is null then
    permits := held + wanted;
    return;
  end if;
  v_free := greatest(0, p.in_flight - v_others.permits - held);
  if others_wait then
    v_part := greatest(1, p.in_flight / (v_others.waiting + 1));
    -- Its turn is over: what is free belongs to workers that were served longer ago, as far as it goes.
    if share.turn_until <= at then
      v_free := greatest(0, v_free - v_others.hungry);
    end if;
    permits := held + least(v_free, wanted, greatest(0, v_part - held));
  else
    permits := held + least(v_free, wanted);
  end if;
end
$$;
