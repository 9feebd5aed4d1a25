-- Ends children of supervisors whose worker is no longer alive: their processes ended with it, and no process is left
-- to report it. A supervisor that was only away for a while reports them again as they are.
-- Locks: 26 child (those that are free).
-- Plan expected: all supervisors, of which there are few; worker and child by their primary keys.
create or replace function fairmill.end_lost_children()
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.child c
  set state = 'terminated', running = 0, draining = false, cpu = 0, memory_bytes = 0,
    reason = 'its supervisor was lost', changed_at = clock_timestamp()
  where (c.supervisor, c.number) in (
    select x.supervisor, x.number from fairmill.child x
    where x.state <> 'terminated' and x.supervisor = any (array(
      select s.id from fairmill.supervisor s
      where s.worker is not null
        and not exists (select from fairmill.worker w where w.id = s.worker and w.state = 'alive')))
    for update skip locked);
end
$$;
