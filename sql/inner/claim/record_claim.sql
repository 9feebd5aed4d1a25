-- Notes in a list what a worker is about to claim, so that the jobs are found again should it die. Part of the claims.
--   hand_no  the number of the list; what the list said before is forgotten, so nothing of it may still be held. Null: the worker keeps no
--            account of its lists; a new one is made, and those of which it holds nothing any more are removed
--   ids      the jobs; a list may name more than are claimed in the end
-- Locks: the list.
-- Plan expected: for each list of the worker the rows by the primary key of job.
create or replace function fairmill.record_claim(worker_id text, hand_no bigint, ids bigint[])
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  if hand_no is null then
    delete from fairmill.hand h where h.worker = worker_id and h.no < 0
      and (select j.id from fairmill.job j where j.id = any (h.ids) and j.worker is not distinct from worker_id limit 1) is null;
  end if;
  insert into fairmill.hand as h (worker, no, ids) values (worker_id, coalesce(hand_no, -pg_current_xact_id()::text::bigint), record_claim.ids)
  -- One transaction may claim several times.
  on conflict (worker, no) do update set ids = case when hand_no is null then h.ids || excluded.ids else excluded.ids end;
end
$$;
