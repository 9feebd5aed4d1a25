-- Takes one of the slots of a handler's ticks for as long as the lease, if one is free: a slot is free that no tick
-- has, or whose lease is over. In a transaction of its own, before anything else of the tick.
--   handler    names the handler: each handler has slots of its own
--   worker_id  the tick
--   slots      how many slots there are, 1 to 1000
-- Result: the number of the slot; null: all are taken.
-- Locks: 32 tick slot.
-- Plan expected: the handler's rows by the primary key.
create or replace function fairmill.take_tick_slot_v1(handler text, worker_id text, slots integer, lease interval)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at   constant timestamptz := clock_timestamp();
  v_slot integer;
begin
  if (select count(*) from fairmill.tick_slot t
      where t.handler = take_tick_slot_v1.handler and t.slot <= slots) < slots then
    insert into fairmill.tick_slot (handler, slot)
    select take_tick_slot_v1.handler, s from generate_series(1, slots) s
    on conflict do nothing;
    -- A handler that changes its kinds has other rows from then on: those that no tick asked for in a week are removed.
    delete from fairmill.tick_slot t where t.ctid = any (array(
      select x.ctid from fairmill.tick_slot x where x.used_at < v_at - interval '7 days' and x.lease_until < v_at
      for update skip locked));
  end if;
  update fairmill.tick_slot t set worker = worker_id, lease_until = v_at + lease, used_at = v_at
  where t.handler = take_tick_slot_v1.handler and t.slot = (
    select x.slot from fairmill.tick_slot x
    where x.handler = take_tick_slot_v1.handler and x.slot <= slots and x.lease_until <= v_at
    order by x.slot limit 1 for update skip locked)
  returning t.slot into v_slot;
  return v_slot;
end
$$;
