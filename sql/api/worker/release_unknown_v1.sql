-- Releases jobs that the database gave to a worker but the worker does not know of: the answer to its claim was lost on
-- the way. No attempt is spent.
--   known  the ids that the worker runs
-- Safe at any time: should the answer arrive after all, the fence refuses what is done with it. That is why lease_no is
-- raised here as by a claim: nothing else distinguishes a snooze or release that comes too late from one that is
-- repeated.
-- Result: how many.
-- Locks: 8 job, 20 queue mark.
-- Plan expected: the worker's lists, then the rows by the primary key.
create or replace function fairmill.release_unknown_v1(worker_id text, known bigint[])
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_queues text[];
  v_count  integer;
begin
  with released as (
    update fairmill.job j set state = 'ready', worker = null, started_at = null, attempt = j.attempt - 1,
      lease_no = fairmill.next_lease(j.lease_no)
    -- No order by: to save a sort the planner might walk along the whole primary key. It is the update that locks, in
    -- the order of the ids, because it goes through the primary key.
    where j.id = any (array(
        select u.id from fairmill.claim_list h cross join lateral unnest(h.ids) as u (id) where h.worker = worker_id
        except
        select k.id from unnest(known) as k (id)))
      and j.worker is not distinct from worker_id
    returning j.queue)
  select count(*), array_agg(distinct r.queue) into v_count, v_queues from released r;
  if v_count > 0 then
    perform fairmill.raise_rescan_marks(v_queues);
  end if;
  return v_count;
end
$$;
