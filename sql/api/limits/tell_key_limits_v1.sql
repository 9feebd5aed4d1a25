-- Says what limits the keys of a kind have, as set_key_limits_v1 does, inside a transaction of the caller: nobody waits for its commit. Jobs of
-- this transaction obey the rule at once, those of others when it has committed; upkeep then takes it over, for claims and for what waits.
--   rule     as set_key_limits_v1 takes it
--   told_at  when the caller told this rule for the first time, as answered then: an attempt that was rolled back must not make it
--            younger than what others told since. Null: now
-- Result: told_at; is_settled: the rule is in force, or another one was told later, and telling it again would change nothing.
-- Locks: none. Rules that others tell in their transactions are rows of their own.
create or replace function fairmill.tell_key_limits_v1(kind text, rule jsonb, told_at timestamptz default null, out is_settled boolean, out first_told_at timestamptz)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_told fairmill.told_rule := fairmill.read_key_limits(tell_key_limits_v1.kind, rule);
  v_last fairmill.told_rule;
begin
  first_told_at := coalesce(tell_key_limits_v1.told_at, clock_timestamp());
  v_told.told_at := first_told_at;
  select * into v_last from fairmill.told_rule t where t.kind = v_told.kind order by t.told_at desc, t.id desc limit 1;
  if v_last.id is null or v_last.taken then
    is_settled := fairmill.are_key_limits(v_told) or coalesce(v_last.told_at > v_told.told_at, false);
    if is_settled then
      return;
    end if;
  else
    is_settled := false;
    -- What was told last waits to be taken over, whoever told it: if it is the same there is nothing to add.
    if v_last.told_at > v_told.told_at
       or (v_last.per, v_last.max_running, v_last.when_full, v_last.rate_limit, v_last.rate_per_ms, v_last.rate_how, v_last.rate_at, v_last.kind_max_running)
          is not distinct from
          (v_told.per, v_told.max_running, v_told.when_full, v_told.rate_limit, v_told.rate_per_ms, v_told.rate_how, v_told.rate_at, v_told.kind_max_running) then
      return;
    end if;
  end if;
  insert into fairmill.told_rule (kind, told_at, per, max_running, when_full, rate_limit, rate_per_ms, rate_how, rate_at, kind_max_running)
  values (v_told.kind, v_told.told_at, v_told.per, v_told.max_running, v_told.when_full, v_told.rate_limit, v_told.rate_per_ms, v_told.rate_how,
    v_told.rate_at, v_told.kind_max_running);
  perform fairmill.wake_v1(null, 0);
end
$$;
