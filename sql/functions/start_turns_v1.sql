-- Gives the next message of each order key its delivery job, unless one of that key is under way. By whoever ended one, and by upkeep.
--   tenants, channels, keys  side by side
-- Result: how many were started.
-- The job is made past the limits at enqueue, whose meters a caller's transaction may hold; one that needs a place under a key is
-- scheduled for now, and upkeep finds its place.
-- Locks: an advisory lock per key that nobody waits for: who does not get it leaves a mark, and upkeep looks again. Then the row.
-- Plan expected: probes of outbox_turn and outbox_waiting per key.
create or replace function fairmill.start_turns_v1(tenants text[], channels text[], keys text[])
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_turn    record;
  v_next    bigint;
  v_started bigint[] := '{}';
begin
  for v_turn in select distinct t.tenant, t.channel, t.key from unnest(tenants, channels, keys) as t (tenant, channel, key) order by 1, 2, 3 loop
    select o.id into v_next from fairmill.outbox o
    where o.tenant = v_turn.tenant and o.channel = v_turn.channel and o.order_key = v_turn.key and o.waiting is not null
    order by o.id limit 1;
    continue when not found;
    if pg_try_advisory_xact_lock(hashtextextended(jsonb_build_array('fairmill.turn', v_turn.tenant, v_turn.channel, v_turn.key)::text, 0)) then
      -- Whoever held that lock before has committed: what it started is seen from here on.
      select o.id into v_next from fairmill.outbox o
      where o.tenant = v_turn.tenant and o.channel = v_turn.channel and o.order_key = v_turn.key and o.waiting is not null
      order by o.id limit 1;
      continue when not found or exists (
        select from fairmill.outbox o where o.tenant = v_turn.tenant and o.channel = v_turn.channel and o.order_key = v_turn.key
          and o.order_key is not null and o.ended_at is null and o.waiting is null);
      select o.id into v_next from fairmill.outbox o where o.id = v_next and o.waiting is not null for update skip locked;
      if found then
        v_started := v_started || v_next;
        perform fairmill.start_turn_v1(v_next);
        continue;
      end if;
    end if;
    -- Who has it locked leaves the mark that the row has.
    update fairmill.outbox o set recheck = true where o.id = (select x.id from fairmill.outbox x where x.id = v_next for update skip locked);
  end loop;
  return cardinality(v_started);
end
$$;
