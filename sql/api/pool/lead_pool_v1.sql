-- Asks to lead a pool for a while: the leader scales what supervisors share. The
-- caller may ask again before.
-- Result: true: the caller leads until then.
-- Locks: 24 pool.
create or replace function fairmill.lead_pool_v1(pool_name text, supervisor_id text, lease interval)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.pool p set leader = supervisor_id, leader_until = clock_timestamp() + lease
  where p.name = pool_name and (p.leader is null or p.leader = supervisor_id or p.leader_until < clock_timestamp());
  return found;
end
$$;
