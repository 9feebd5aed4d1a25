-- Settles a running job as done inside the transaction of its handler: the settle and what the handler wrote commit
-- together.
--   worker_id, job_id, lease  the fence;  detail: result and effects, as settle_v1 takes them
-- Result: accepted, false when the lease was lost or the effects were refused: then roll back. refused: why the effects
-- were.
-- admitted: as settle_v1 answers it.
-- The transaction must be READ COMMITTED (else FM021): whoever passes on a slot locks its key first and looks then at
-- who waits for it. With the snapshot of an older moment it would overlook a job, and that would wait for nobody.
-- Locks: as settle_v1, until the caller's transaction ends: end it soon.
create or replace function fairmill.complete_v1(worker_id text, job_id bigint, lease bigint, detail jsonb default null,
  out accepted boolean, out refused jsonb, out admitted jsonb)
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_detail text;
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'a job cannot be completed in a % transaction', current_setting('transaction_isolation')
      using errcode = 'FM021', hint = 'Begin the transaction as READ COMMITTED.';
  end if;
  select s.accepted = 1, s.admitted into accepted, admitted
  from fairmill.settle_v1(worker_id, array[job_id], array[lease], array['done'], case when detail is not null
    then jsonb_build_array(detail) end) s;
exception when sqlstate 'FM020' then
  -- A value, not an error: some drivers tell no more of an error than its code.
  get stacked diagnostics v_detail = pg_exception_detail;
  accepted := false;
  refused := v_detail::jsonb -> job_id::text;
end
$$;
