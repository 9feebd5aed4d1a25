-- Raises the rescan mark of queues in which an old id became ready, and wakes their workers: floors are forgotten at
-- the next claim.
-- Locks: 20 queue mark.
create or replace function fairmill.raise_rescan_marks(queues text[])
returns void
language plpgsql
as $$
#variable_conflict use_variable
begin
  insert into fairmill.queue as q (name, rescan_no)
  select distinct name, 1 from unnest(queues) as given (name) order by name
  on conflict on constraint queue_pkey do update set rescan_no = q.rescan_no + 1;
  perform fairmill.wake_v1(queues);
end
$$;
