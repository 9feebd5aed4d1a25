-- Gives back what a job that is done has captured of its account, or a part of it: an entry of its own, once for each
-- reservation. A repeated call changes nothing, whatever amount it names.
--   job_id  the job;  amount: null, all that was captured, or less;  reason: for the statement
-- Result: answer: refunded, known (it was refunded before), not_captured (it reserved nothing, or nothing of it was
-- captured), too_much (more than was captured), not_found (no ended job has this id). account, refunded: whose, and how
-- much in all.
-- Locks: 15 account.
create or replace function fairmill.refund_v1(job_id bigint, amount bigint default null, reason text default null,
  out answer text, out account text, out refunded bigint)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_reservation bigint;
  v_captured    bigint;
  v_key         text;
begin
  select h.reservation into v_reservation from fairmill.job_history h where h.id = refund_v1.job_id limit 1;
  if not found then
    answer := 'not_found';
    return;
  end if;
  select e.account, e.amount - coalesce(e.returned, 0) into account, v_captured
  from fairmill.credit_entry e
  where e.reservation_id = v_reservation and e.kind = 'capture';
  if coalesce(v_captured, 0) = 0 then
    answer := 'not_captured';
    return;
  end if;
  if coalesce(refund_v1.amount not between 1 and v_captured, false) then
    answer := 'too_much';
    refunded := v_captured;
    return;
  end if;
  v_key := 'fairmill.refund ' || v_reservation;
  perform fairmill.lock_accounts(array[refund_v1.account]);
  insert into fairmill.credit_entry (account, kind, amount, job_id, key, reason)
  values (refund_v1.account, 'refund', coalesce(refund_v1.amount, v_captured), refund_v1.job_id, v_key,
    refund_v1.reason)
  on conflict (account, key) where key is not null do nothing;
  answer := case when found then 'refunded' else 'known' end;
  select e.amount into refunded from fairmill.credit_entry e where e.account = refund_v1.account and e.key = v_key;
  if answer = 'refunded' then
    update fairmill.account a set balance = a.balance + refund_v1.refunded where a.name = refund_v1.account;
  end if;
end
$$;
