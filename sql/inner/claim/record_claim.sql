-- Notes in a list what a worker is about to claim, so that the jobs are found again should it die. Part of the claims.
--   list_no  the number of the list; what the list said before is forgotten, so nothing of it may still be held. Null:
--            the worker keeps no account of its lists; a new one is made, and those of which it holds nothing any more
--            are removed
--   ids      the jobs; a list may name more than are claimed in the end
-- Locks: 21 claim list.
-- Plan expected: for each list of the worker the rows by the primary key of job.
create or replace function fairmill.record_claim(worker_id text, list_no bigint, ids bigint[])
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  if list_no is null then
    delete from fairmill.claim_list h where h.worker = worker_id and h.list_no < 0
      and (select j.id from fairmill.job j where j.id = any (h.ids) and j.worker is not distinct
        from worker_id limit 1) is null;
  end if;
  insert into fairmill.claim_list as h (worker, list_no, ids)
    values (worker_id, coalesce(list_no, -pg_current_xact_id()::text::bigint), record_claim.ids)
  -- One transaction may claim several times.
  on conflict (worker, list_no) do update set ids = case when record_claim.list_no is null then h.ids || excluded.ids
    else excluded.ids end;
end
$$;
