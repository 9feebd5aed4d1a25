-- A rule as set_key_limits_v1 takes it, as a row of key_limit_report without id and time. Refuses what it does not
-- know; what the values may be is for the table to say.
create or replace function fairmill.read_key_limits(kind text, rule jsonb)
returns fairmill.key_limit_report
language plpgsql
as $$
declare
  v_rate    jsonb := nullif(rule -> 'rate', 'null');
  v_report  fairmill.key_limit_report;
begin
  perform fairmill.check_fields(nullif(rule, 'null'), '{per,max_running,when_full,rate}', 'rule');
  perform fairmill.check_rate(v_rate);
  v_report.kind := kind;
  v_report.adopted := false;
  v_report.per := coalesce(rule ->> 'per', 'key');
  v_report.when_full := coalesce(rule ->> 'when_full', 'wait');
  if v_report.per = 'kind' and v_report.when_full = 'wait' then
    v_report.kind_max_running := (rule ->> 'max_running')::integer;
  else
    v_report.max_running := (rule ->> 'max_running')::integer;
  end if;
  if v_rate is not null then
    v_report.rate_limit := (v_rate ->> 'limit')::integer;
    v_report.rate_per_ms := (v_rate ->> 'per_ms')::bigint;
    v_report.rate_how := coalesce(v_rate ->> 'how', 'window');
    v_report.rate_at := coalesce(v_rate ->> 'at', 'start');
  end if;
  return v_report;
end
$$;
