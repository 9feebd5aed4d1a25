-- Says what limits the keys of a kind have; null: none any more. The library calls it for every definition with limits,
-- once per process.
--   rule  per: key | tenant | kind;  max_running, when_full: wait | refuse;  rate: {limit, per_ms, how, at}
-- How many jobs of a whole kind are active, where others wait, is a cap on what runs: it stands in limit_setting, not
-- here (set_limits_v1).
-- Result: whether it is new. Other sessions wait for the commit: a transaction that goes on for a while calls
-- report_key_limits_v1 instead.
-- Locks: as change_key_limits; none if the limits are in force.
create or replace function fairmill.set_key_limits_v1(kind text, rule jsonb)
returns boolean
language plpgsql
as $$
declare
  v_report fairmill.key_limit_report := fairmill.read_key_limits(kind, rule);
begin
  v_report.reported_at := clock_timestamp();
  return fairmill.change_key_limits(v_report);
end
$$;
