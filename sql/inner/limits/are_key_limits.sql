-- Do key_limit and limit_setting say exactly this of the kind? A look without a lock.
create or replace function fairmill.are_key_limits(report fairmill.key_limit_report)
returns boolean
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_old fairmill.key_limit;
begin
  select * into v_old from fairmill.key_limit r where r.kind = report.kind;
  return (select g.defined_max_running from fairmill.limit_setting g where g.scope = 'kind' and g.name = report.kind)
    is not distinct from report.kind_max_running
    and case when coalesce(report.max_running, report.rate_limit) is null then v_old.kind is null
      else v_old is not distinct from
        (report.kind, report.per, report.max_running, report.when_full, report.rate_limit, report.rate_per_ms,
          report.rate_how, report.rate_at)::fairmill.key_limit end;
end
$$;
