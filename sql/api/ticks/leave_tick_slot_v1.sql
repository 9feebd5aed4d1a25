-- A tick gives its slot back. One whose lease was over may belong to another tick by now: that one keeps it.
-- Result: whether it was still the caller's.
-- Locks: 32 tick slot.
create or replace function fairmill.leave_tick_slot_v1(handler text, worker_id text)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.tick_slot t set worker = null, lease_until = '-infinity'
  where t.handler = leave_tick_slot_v1.handler and t.worker = worker_id;
  return found;
end
$$;
