-- Must this enqueue ask any gate? Most need not: one probe of three small indexes says so.
--   kind  of all jobs that do not name their own
create or replace function fairmill.has_gates_at_enqueue_v1(jobs jsonb, kind text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_variable
begin
  if exists (select from fairmill.gate g where g.rate_at = 'enqueue') then
    return true;
  end if;
  if not exists (select from fairmill.key_rule) and not exists (select from fairmill.told_rule t where not t.taken) then
    return false;
  end if;
  return exists (select from fairmill.rule_in_force r where r.kind = has_gates_at_enqueue_v1.kind)
    or exists (select from jsonb_array_elements(jobs) as e (job)
               cross join lateral (select from fairmill.rule_in_force r where r.kind = e.job ->> 'kind') as rule);
end
$$;
