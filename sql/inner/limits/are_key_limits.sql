-- Do key_rule and limit_setting say exactly this of the kind? A look without a lock.
create or replace function fairmill.are_key_limits(told fairmill.told_rule)
returns boolean
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_old fairmill.key_rule;
begin
  select * into v_old from fairmill.key_rule r where r.kind = told.kind;
  return (select g.defined_max_running from fairmill.limit_setting g where g.scope = 'kind' and g.name = told.kind) is not distinct from told.kind_max_running
    and case when coalesce(told.max_running, told.rate_limit) is null then v_old.kind is null
      else v_old is not distinct from
        (told.kind, told.per, told.max_running, told.when_full, told.rate_limit, told.rate_per_ms, told.rate_how, told.rate_at)::fairmill.key_rule end;
end
$$;
