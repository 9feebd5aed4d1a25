-- Removes the lists of workers that are not alive, where nothing of a list is held any more.
-- The last step of its caller, because a claim of such a worker may still be under way: it waits for its list, and
-- holds what others of upkeep's steps wait for.
-- Locks: 21 claim list (those that are free).
-- Plan expected: the lists by their primary key, for each of them the rows by the primary key of job.
create or replace function fairmill.forget_claim_lists()
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_list record;
begin
  for v_list in
    select h.worker, h.list_no, h.ids from fairmill.claim_list h
    where not exists (select from fairmill.worker w where w.id = h.worker
      and w.state = 'alive') for update of h skip locked
  loop
    -- A statement of its own, after the lock: a claim that has committed meanwhile is seen.
    if (select j.id from fairmill.job j where j.id = any (v_list.ids) and j.worker is not distinct
      from v_list.worker limit 1) is null then
      delete from fairmill.claim_list h where h.worker = v_list.worker and h.list_no = v_list.list_no;
    end if;
  end loop;
end
$$;
