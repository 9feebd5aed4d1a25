-- Looks at messages whose turn may have come unseen: published while no message, or one that was just ending, was
-- before them. Part of upkeep.
-- Result: how many were started, how many marks are left for the next time because another session has locked rows
-- there. A mark is removed only where something was started, or where the message under way is locked here and found
-- open: then it cannot end before this commits, and the transaction that ends it sees the row.
-- Locks: 10 message (those that are free). A session that reopens another message of the key is waited for, but not for
-- long and not often: the index outbox_head has room for one.
-- Plan expected: a walk along outbox_recheck; probes of outbox_head and outbox_waiting per row.
create or replace function fairmill.recheck_order(rows_max integer, out started integer, out remaining integer)
language plpgsql
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
declare
  v_row  record;
  v_open boolean;
  v_next bigint;
  v_late integer := 0;   -- how many waits for another session timed out
begin
  started := 0;
  remaining := 0;
  for v_row in
    select o.id, o.tenant, o.channel, o.order_key from fairmill.outbox o where o.recheck
    order by o.id limit rows_max for update skip locked
  loop
    v_open := exists (
      select from fairmill.outbox o
      where o.tenant = v_row.tenant and o.channel = v_row.channel and o.order_key = v_row.order_key
        and o.order_key is not null and o.ended_at is null and o.waiting is null);
    if not v_open then
      select o.id into v_next from fairmill.outbox o
      where o.tenant = v_row.tenant and o.channel = v_row.channel and o.order_key = v_row.order_key
        and o.waiting is not null
      order by o.id limit 1;
      select o.id into v_next from fairmill.outbox o
      where o.id = v_next and o.waiting is not null
      for update skip locked;
      if found then
        begin
          perform fairmill.start_message(v_next);
          started := started + 1;
        exception when unique_violation then
          null;
        when lock_not_available then
          v_late := v_late + 1;
        end;
      end if;
    end if;
    perform from fairmill.outbox o
    where o.tenant = v_row.tenant and o.channel = v_row.channel and o.order_key = v_row.order_key
      and o.order_key is not null and o.ended_at is null and o.waiting is null
    for share skip locked;
    if found then
      update fairmill.outbox o set recheck = false where o.id = v_row.id and o.recheck;
    else
      remaining := remaining + 1;
    end if;
    exit when v_late >= 5;
  end loop;
end
$$;
