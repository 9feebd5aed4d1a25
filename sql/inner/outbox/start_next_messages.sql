-- Gives the next message of each order key its delivery job, in the transaction that ended the one before it.
--   tenants, channels, keys  side by side: of messages that were under way until now
-- The caller has ended the one under way and not committed: no other session can begin one of that key until then.
-- So this waits for no session. A message that is published meanwhile has a mark, and upkeep finds it (recheck_order).
-- Locks: 10 message (the next of each order key). One that upkeep is looking at keeps its mark.
-- Plan expected: probes of outbox_head and outbox_waiting per key.
create or replace function fairmill.start_next_messages(tenants text[], channels text[], keys text[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_turn record;
  v_next bigint;
begin
  for v_turn in select t.tenant, t.channel, t.key from unnest(tenants, channels, keys) as t (tenant, channel, key) loop
    select o.id into v_next from fairmill.outbox o
    where o.tenant = v_turn.tenant and o.channel = v_turn.channel and o.order_key = v_turn.key
      and o.waiting is not null
    order by o.id limit 1;
    continue when not found;
    select o.id into v_next from fairmill.outbox o where o.id = v_next and o.waiting is not null for update skip locked;
    if found then
      perform fairmill.start_message(v_next);
    end if;
  end loop;
end
$$;
