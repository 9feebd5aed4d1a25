// Invariants of credits: every reservation has the end that fits its job, and every account adds up.
import type { Invariant } from "./invariant.js";

const FITS = `left join fairmill.credit_entry h on h.id = j.reservation and h.kind = 'reservation' and h.job_id = j.id
  left join fairmill.credit_entry e on e.reservation_id = j.reservation and e.job_id = j.id and e.account = h.account and e.amount = h.amount
  where j.reservation is not null and (h.id is null or e.kind is distinct from j.fits)`;

/** An account that is losing its name has entries under both for a while, and is not looked at. Accounts that do not add up, by name, of a part of them. Also asked while others work: one statement sees one snapshot. */
const ACCOUNTS = `with renamed as (
    select unnest(array[e.account, 'erased-' || e.id]) as name from fairmill.tenant_erasure e where e.state <> 'done' and e.account is not null),
  moved as (
    select account, id, case kind when 'reservation' then -amount when 'capture' then coalesce(returned, 0) else amount end as free,
      case when kind = 'reservation' then amount when kind in ('grant', 'refund') then 0 else -amount end as reserved
    from fairmill.credit_entry where account > $1 and ($2::text is null or account <= $2) and account <> all (array(select name from renamed))),
  running as (
    select account, sum(free) over (partition by account order by id) as free, sum(reserved) over (partition by account order by id) as reserved from moved),
  said as (
    select a.name, a.balance + coalesce(sum(p.released), 0) as free, a.reserved - coalesce(sum(p.ended), 0) as reserved
    from fairmill.account a left join fairmill.credit_pending p on p.account = a.name
    where a.name > $1 and ($2::text is null or a.name <= $2) and a.name <> all (array(select name from renamed)) group by a.name)
  select account as id from running where free < 0 or reserved < 0
  union all
  select coalesce(s.name, m.account) from said s full join (select account, sum(free) as free, sum(reserved) as reserved from moved group by 1) m on m.account = s.name
  where s.free is distinct from coalesce(m.free, 0) or s.reserved is distinct from coalesce(m.reserved, 0)
  union all
  select p.account from fairmill.credit_pending p left join fairmill.credit_entry e on e.id = p.entry_id
  where p.account > $1 and ($2::text is null or p.account <= $2)
    and (p.account, p.ended, p.released) is distinct from (e.account, e.amount, case when e.kind = 'release' then e.amount else coalesce(e.returned, 0) end)`;

export const CREDIT_INVARIANTS: readonly Invariant[] = [
  {
    id: "I3",
    sentence: "the reservation of a live job is open",
    walk: "job",
    query: `select j.id from (select id, reservation, null::text as fits from fairmill.job where id > $1 and ($2::bigint is null or id <= $2)) j ${FITS}`,
  },
  {
    id: "I3",
    sentence: "the reservation of an ended job was captured where it is done, and released otherwise",
    walk: "history",
    query: `select j.id from (select id, reservation, case when state = 'done' then 'capture' else 'release' end as fits
        from fairmill.job_history where id > $1 and ($2::bigint is null or id <= $2)) j ${FITS}`,
  },
  {
    id: "I3",
    sentence: "an open reservation is that of a live job",
    walk: "entry",
    query: `select h.job_id as id from fairmill.credit_entry h
      where h.id > $1 and ($2::bigint is null or h.id <= $2) and h.kind = 'reservation'
        and not exists (select from fairmill.credit_entry e where e.reservation_id = h.id)
        and not exists (select from fairmill.job j where j.id = h.job_id and j.reservation = h.id)`,
  },
  {
    id: "I3",
    sentence: "a refund is of a job that captured as much",
    walk: "entry",
    query: `select r.job_id as id from fairmill.credit_entry r
      where r.id > $1 and ($2::bigint is null or r.id <= $2) and r.kind = 'refund'
        and not exists (select from fairmill.credit_entry e where 'fairmill.refund ' || e.reservation_id = r.key and e.kind = 'capture'
          and e.reservation_id = split_part(r.key, ' ', 2)::bigint and e.account = r.account and e.job_id = r.job_id
          and e.amount - coalesce(e.returned, 0) >= r.amount)`,
  },
  {
    id: "I3",
    sentence:
      "free and reserved of an account are what its entries say, at no entry below zero; ends that wait to be added are real and counted once",
    walk: "account",
    query: ACCOUNTS,
  },
];
