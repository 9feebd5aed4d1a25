-- Removes the lists of workers that are not alive, where nothing of a list is held any more.
-- The last step of its caller, because a claim of such a worker may still be under way: it waits for its list, and holds what others of upkeep's
-- steps wait for.
-- Locks: the lists; what somebody else holds is being written over, and is skipped.
-- Plan expected: the lists by their primary key, for each of them the rows by the primary key of job.
create or replace function fairmill.forget_claim_lists()
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_hand record;
begin
  for v_hand in
    select h.worker, h.no, h.ids from fairmill.hand h
    where not exists (select from fairmill.worker w where w.id = h.worker and w.state = 'alive') for update of h skip locked
  loop
    -- A statement of its own, after the lock: a claim that has committed meanwhile is seen.
    if (select j.id from fairmill.job j where j.id = any (v_hand.ids) and j.worker is not distinct from v_hand.worker limit 1) is null then
      delete from fairmill.hand h where h.worker = v_hand.worker and h.no = v_hand.no;
    end if;
  end loop;
end
$$;
