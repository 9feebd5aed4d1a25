-- The tenants of which a claim leaves jobs alone, because a budget is spent: those with such a job in one of the lanes.
-- Part of claim_limited.
--   spent  tenant → kinds;  queues, priorities, tenants: the lanes
-- Result: in the form of closed_limits. Other kinds of these tenants may start, so the lanes are asked again soon.
-- Plan expected: of each such lane a walk along job_lane to the first job of such a kind.
create or replace function fairmill.lanes_of_spent(spent jsonb, queues text[], priorities smallint[], tenants text[])
returns jsonb
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return coalesce((
    select jsonb_agg(distinct
      jsonb_build_object('scope', 'tenant', 'name', lane.tenant, 'why', 'budget', 'open_in_ms', 2000))
    from unnest(queues, priorities, tenants) as lane (queue, priority, tenant)
    where spent ? lane.tenant and exists (
      select from fairmill.job r
      where r.aside is null and r.state = 'ready'
        and fairmill.level_v1(r.queue, r.priority) = fairmill.level_v1(lane.queue, lane.priority)
        and r.queue = lane.queue and r.tenant = lane.tenant and spent -> lane.tenant ? r.kind)), '[]');
end
$$;
