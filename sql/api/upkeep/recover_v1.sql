-- Gives back the jobs of dead workers: those whose lease is over, and those that nobody knows. Any living worker calls
-- this, or a database cron. A job whose workers died crashes_max times is poison and ends as dead.
--   jobs_max  at most so many jobs a call: call again while it returns that many
-- Result: how many went back to the queue, how many ended (poison, or asked to be cancelled).
-- Locks: as recover_rows, then as finish_transitions, then as forget_claim_lists.
create or replace function fairmill.recover_v1(jobs_max integer default 1000, crashes_max integer default 3,
  out recovered integer, out ended integer)
language plpgsql
as $$
declare
  v_rows record;
begin
  select * into v_rows from fairmill.recover_rows(jobs_max, crashes_max);
  perform fairmill.finish_transitions(v_rows.queues, v_rows.keys, v_rows.members);
  perform fairmill.forget_claim_lists();
  recovered := v_rows.recovered;
  ended := v_rows.ended;
end
$$;
