-- Ends the reservations of jobs that ended: captured where the job is done, given back otherwise. In the transaction
-- that ends the job, whoever ends it. Takes no lock of an account: it waits in credit_pending. A reservation that has
-- its end keeps it: no settle ever fails for it.
--   reservations, states  of the jobs that ended
-- Plan expected: a probe of the primary key of credit_entry per reservation.
create or replace function fairmill.end_reservations(reservations bigint[], states text[])
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  with ended as (
    insert into fairmill.credit_entry (account, kind, amount, reservation_id, job_id)
    select h.account, case when given.state = 'done' then 'capture' else 'release' end, h.amount, h.id, h.job_id
    from unnest(reservations, states) as given (reservation, state)
    cross join lateral (select x.id, x.account, x.amount, x.job_id from fairmill.credit_entry x
      where x.id = given.reservation offset 0) h
    on conflict (reservation_id) where reservation_id is not null do nothing
    returning id, account, amount, kind)
  insert into fairmill.credit_pending (entry_id, account, ended, released)
  select e.id, e.account, e.amount, case when e.kind = 'release' then e.amount else 0 end from ended e;
end
$$;
