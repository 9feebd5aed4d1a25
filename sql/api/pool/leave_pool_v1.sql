-- A supervisor has stopped: it and its children are forgotten, and another one may lead the pool.
-- Locks: 24 pool, 25 supervisor, 26 child.
create or replace function fairmill.leave_pool_v1(supervisor_id text)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.pool p set leader = null, leader_until = null
  where p.name = (select s.pool from fairmill.supervisor s where s.id = supervisor_id) and p.leader = supervisor_id;
  delete from fairmill.supervisor s where s.id = supervisor_id;
end
$$;
