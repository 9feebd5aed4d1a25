-- Reports what limits the keys of a kind have, as set_key_limits_v1 does, inside a transaction of the caller: no
-- session waits for its commit. Jobs of this transaction obey the rule at once, those of others when it has committed;
-- then upkeep applies it to claims and to what waits.
--   rule         as set_key_limits_v1 takes it
--   reported_at  when the caller reported this rule for the first time, as answered then, so that repeating a report
--                after a rollback does not make it younger than what others have reported since. Null: now
-- Result: reported_at; is_settled: the rule is in force, or another one was reported later, and reporting it again
-- would change nothing.
-- Locks: none. Rules that others report in their transactions are rows of their own.
create or replace function fairmill.report_key_limits_v1(kind text, rule jsonb, reported_at timestamptz default null,
  out is_settled boolean, out first_reported_at timestamptz)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_report fairmill.key_limit_report := fairmill.read_key_limits(report_key_limits_v1.kind, rule);
  v_last   fairmill.key_limit_report;
begin
  first_reported_at := coalesce(report_key_limits_v1.reported_at, clock_timestamp());
  v_report.reported_at := first_reported_at;
  select * into v_last from fairmill.key_limit_report t
  where t.kind = v_report.kind
  order by t.reported_at desc, t.id desc limit 1;
  if v_last.id is null or v_last.adopted then
    is_settled := fairmill.are_key_limits(v_report) or coalesce(v_last.reported_at > v_report.reported_at, false);
    if is_settled then
      return;
    end if;
  else
    is_settled := false;
    -- The last report waits to be applied, from any session: if it is the same there is nothing to add.
    if v_last.reported_at > v_report.reported_at
      or (v_last.per, v_last.max_running, v_last.when_full, v_last.rate_limit, v_last.rate_per_ms, v_last.rate_how,
          v_last.rate_at, v_last.kind_max_running)
        is not distinct from
        (v_report.per, v_report.max_running, v_report.when_full, v_report.rate_limit, v_report.rate_per_ms,
          v_report.rate_how, v_report.rate_at, v_report.kind_max_running) then
      return;
    end if;
  end if;
  insert into fairmill.key_limit_report (kind, reported_at, per, max_running, when_full, rate_limit, rate_per_ms,
    rate_how, rate_at, kind_max_running)
  values (v_report.kind, v_report.reported_at, v_report.per, v_report.max_running, v_report.when_full,
    v_report.rate_limit, v_report.rate_per_ms, v_report.rate_how, v_report.rate_at, v_report.kind_max_running);
  perform fairmill.wake_v1(null, 0);
end
$$;
