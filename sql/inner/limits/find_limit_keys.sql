-- Finds whose slots and rate each job uses (limit_key), and what the limit of its key says when all slots are taken
-- (when_full).
-- Plan expected: a probe of key_limit and of key_limit_report per kind, then one pass over the jobs. What belongs to a
-- kind is looked up in an object: a join would go through all kinds for each job.
create or replace function fairmill.find_limit_keys(jobs fairmill.new_job[])
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_rules jsonb;  -- by kind
  v_job   record;
begin
  select jsonb_object_agg(used.kind, jsonb_build_object('per', r.per,
      'when_full', case when r.max_running is not null then r.when_full end))
    into v_rules
  from (select distinct j.kind from unnest(jobs) as j where j.conflict is null and j.refusal is null) used
  cross join lateral (select x.* from fairmill.key_limit_in_force x where x.kind = used.kind offset 0) r;
  for v_job in
    select j.n, v_rules -> j.kind ->> 'when_full' as when_full, case v_rules -> j.kind ->> 'per'
      when 'kind' then jsonb_build_array(j.kind)::text
      when 'tenant' then jsonb_build_array(j.kind, j.tenant)::text
      when 'key' then case when j.key is not null
        then jsonb_build_array(j.kind, j.tenant, j.key)::text end end as limit_key
    from unnest(jobs) as j
    where j.conflict is null and j.refusal is null and v_rules ? j.kind
  loop
    continue when v_job.limit_key is null;
    if octet_length(v_job.limit_key) > 1500 then
      raise exception 'the key of a limited job is too long' using errcode = 'FM001',
        hint = 'Kind, tenant and key together have room for about 1,500 bytes. Pass a digest of it.';
    end if;
    jobs[v_job.n].limit_key := v_job.limit_key;
    jobs[v_job.n].when_full := v_job.when_full;
  end loop;
  return jobs;
end
$$;
