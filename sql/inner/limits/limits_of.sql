-- The limits, weights and pauses in force of a job's tenant, queue and kind, in this order; names without any are left
-- out. The one list of what a job comes under, for functions that ask about one job.
create or replace function fairmill.limits_of(job fairmill.job)
returns setof fairmill.limit_in_force
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    -- A probe of limit_setting per name (offset 0), whatever the statistics say.
    select g.*
    from (values (1, 'tenant', job.tenant), (2, 'queue', job.queue), (3, 'kind', job.kind)) as own (n, scope, name)
    cross join lateral (
      select x.* from fairmill.limit_in_force x where x.scope = own.scope and x.name = own.name offset 0) g
    order by own.n;
end
$$;
