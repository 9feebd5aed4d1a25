-- Ends the reservations of jobs that ended: captured where the job is done, given back otherwise. In the transaction
-- that ends the job, for every way a job ends. Takes no lock of an account: the change waits in credit_pending. A
-- reservation that has its end keeps it: no settle ever fails for it.
--   reservations, states  of the jobs that ended;  captured: beside them, what of the reservation a job that is done
--                         has used, and the rest goes back; null: all of it. More than was reserved is never captured
-- Plan expected: a probe of the primary key of credit_entry per reservation.
create or replace function fairmill.end_reservations(reservations bigint[], states text[],
  captured bigint[] default null)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  with ended as (
    insert into fairmill.credit_entry (account, kind, amount, reservation_id, job_id, returned)
    select h.account, case when given.state = 'done' then 'capture' else 'release' end, h.amount, h.id, h.job_id,
      case when given.state = 'done' and given.captured is not null
        then nullif(h.amount - least(h.amount, greatest(0, given.captured)), 0) end
    from unnest(reservations, states, captured) as given (reservation, state, captured)
    cross join lateral (
      select x.id, x.account, x.amount, x.job_id from fairmill.credit_entry x
      where x.id = given.reservation offset 0) h
    on conflict (reservation_id) where reservation_id is not null do nothing
    returning id, account, amount, kind, returned)
  insert into fairmill.credit_pending (entry_id, account, ended, released)
  select e.id, e.account, e.amount, case when e.kind = 'release' then e.amount else coalesce(e.returned, 0) end
  from ended e;
end
$$;
