-- Looks at messages whose turn may have come without anybody having seen it: published while nobody, or somebody who was just ending, was
-- before them. Part of upkeep.
-- Result: how many were started, how many marks are left for the next time because somebody is busy there.
-- A mark goes away only where something was started, or where the one under way is locked here and found open: then it cannot end before this
-- commits, and whoever ends it sees the row.
-- Locks: the marked rows and those under way, others' are skipped; then as start_turns_v1.
-- Plan expected: a walk along outbox_recheck; a probe of outbox_turn per row.
create or replace function fairmill.recheck_turns_v1(rows_max integer, out started integer, out remaining integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_row record;
begin
  started := 0;
  remaining := 0;
  for v_row in
    select o.id, o.tenant, o.channel, o.order_key from fairmill.outbox o where o.recheck order by o.id limit rows_max for update skip locked
  loop
    if fairmill.start_turns_v1(array[v_row.tenant], array[v_row.channel], array[v_row.order_key]) > 0 then
      started := started + 1;
    end if;
    perform from fairmill.outbox o
    where o.tenant = v_row.tenant and o.channel = v_row.channel and o.order_key = v_row.order_key
      and o.order_key is not null and o.ended_at is null and o.waiting is null for share skip locked;
    if found then
      update fairmill.outbox o set recheck = false where o.id = v_row.id and o.recheck;
    else
      remaining := remaining + 1;
    end if;
  end loop;
end
$$;
