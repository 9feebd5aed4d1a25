// What must hold in every database at every quiet moment. Ids are those of docs/explanation/invariants.md.
import type pg from "pg";

/** Accounts that do not add up, by name. Also asked while others work: one statement sees one moment. */
export const ACCOUNTS = `
  with moved as (
    select account, id, case kind when 'reservation' then -amount when 'capture' then 0 else amount end as free,
      case kind when 'reservation' then amount when 'grant' then 0 else -amount end as reserved
    from fairmill.credit_entry),
  running as (
    select account, sum(free) over (partition by account order by id) as free, sum(reserved) over (partition by account order by id) as reserved from moved),
  said as (
    select a.name, a.balance + coalesce(sum(p.released), 0) as free, a.reserved - coalesce(sum(p.ended), 0) as reserved
    from fairmill.account a left join fairmill.credit_pending p on p.account = a.name group by a.name)
  select account as id from running where free < 0 or reserved < 0
  union all
  select coalesce(s.name, m.account) from said s full join (select account, sum(free) as free, sum(reserved) as reserved from moved group by 1) m on m.account = s.name
  where s.free is distinct from coalesce(m.free, 0) or s.reserved is distinct from coalesce(m.reserved, 0)
  union all
  select p.account from fairmill.credit_pending p left join fairmill.credit_entry e on e.id = p.entry_id
  where (p.account, p.ended, p.released) is distinct from (e.account, e.amount, case when e.kind = 'release' then e.amount else 0 end)`;

const RULES: readonly (readonly [id: string, what: string, query: string])[] = [
  [
    "D1",
    "a job is live or ended, never both",
    "select id from fairmill.job intersect select id from fairmill.job_history",
  ],
  ["D2", "a job has one end", "select id from fairmill.job_history group by id having count(*) > 1"],
  [
    "D3",
    "a running job has a worker, others have none",
    "select id from fairmill.job where (state = 'running') <> (worker is not null)",
  ],
  [
    "D3",
    "a running job is in a list of its worker",
    `select j.id from fairmill.job j
     where j.state = 'running' and not exists (select from fairmill.claim_list h where h.worker = j.worker and j.id = any (h.ids))`,
  ],
  [
    "D4",
    "attempts stay within the allowance",
    "select id from fairmill.job_history where attempt - crashes > max_attempts union all select id from fairmill.job where attempt - crashes > max_attempts",
  ],
  [
    "D5",
    "every failure names the lease it happened under, each lease once",
    `select id from (select id, failures from fairmill.job union all select id, failures from fairmill.job_history) j
     cross join lateral (select count(*) as all_of_them, count(distinct f -> 'lease_no') as distinct_ones from jsonb_array_elements(coalesce(failures, '[]')) f) c
     where all_of_them <> distinct_ones`,
  ],
  ["D6", "a done job has no error", "select id from fairmill.job_history where state = 'done' and error is not null"],
  [
    "D7",
    "a blocked job has somebody in its way, or its key is marked to be looked at again",
    `select b.id from fairmill.job b left join fairmill.key_limit_in_force r on r.kind = b.kind
     where b.state = 'blocked'
       and (select count(*) from fairmill.job h where h.limit_key = b.limit_key and h.slot is not null) < coalesce(r.max_running, 1)
       and not exists (select from fairmill.meter m where m.use = 'start' and m.scope = 'key' and m.name = b.limit_key and m.recheck)`,
  ],
  [
    "D8",
    "a place belongs to a job that is ready, runs, was put back by a rate or by a later one, or is of a kind that refuses",
    `select j.id from fairmill.job j where j.slot is not null
       and not (j.state in ('ready', 'running') or j.state = 'scheduled'
         and (j.rate_limited is true or j.unique_key is not null or exists (select from fairmill.key_limit_in_force r where r.kind = j.kind and r.when_full = 'refuse')))`,
  ],
  [
    "signal",
    "no job waits for a signal that is there",
    `select j.id from fairmill.job j join fairmill.step s on s.job_id = j.id and s.lease_no = j.lease_no
     where j.state = 'scheduled' and s.kind = 'wait' and s.position is not null and s.signalled_at is not null and s.finished_at is null
       and j.run_at > now() + interval '2 seconds'`,
  ],
  [
    "I6",
    "no more jobs of a key hold a place than its rule allows",
    `select max(j.id) as id from fairmill.job j join fairmill.key_limit_in_force r on r.kind = j.kind
     where j.slot is not null group by j.limit_key, r.max_running having count(*) > r.max_running`,
  ],
  [
    "I3",
    "the reservation of a live job is open, that of an ended one has the end that fits, and no other reservation is open",
    `select j.id from (select id, reservation, null as fits from fairmill.job
         union all select id, reservation, case when state = 'done' then 'capture' else 'release' end from fairmill.job_history) j
     left join fairmill.credit_entry h on h.id = j.reservation and h.kind = 'reservation' and h.job_id = j.id
     left join fairmill.credit_entry e on e.reservation_id = j.reservation and e.job_id = j.id and e.account = h.account and e.amount = h.amount
     where j.reservation is not null and (h.id is null or e.kind is distinct from j.fits)
     union all
     select h.job_id from fairmill.credit_entry h
     where h.kind = 'reservation' and not exists (select from fairmill.credit_entry e where e.reservation_id = h.id)
       and not exists (select from fairmill.job j where j.reservation = h.id)`,
  ],
  [
    "I3",
    "per account, free and reserved are what its entries say, at no entry less than nothing; ends that wait to be added are real and counted once",
    ACCOUNTS,
  ],
  [
    "I4",
    "a message is open exactly while its delivery job is live or it waits for its turn, the two know each other, and none was taken twice",
    `select o.id from fairmill.outbox o left join fairmill.job j on j.outbox = o.id
     where (o.ended_at is null) <> (j.id is not null or o.waiting is not null) or j.id is not null and o.job_id is distinct from j.id
     union all select j.id from fairmill.job j where j.outbox is not null and not exists (select from fairmill.outbox o where o.id = j.outbox)
     union all select o.id from fairmill.outbox o where o.status = 'sent' and o.ended_at is null
     union all select min(id) from fairmill.channel_outbox group by idempotency_key having count(*) > 1`,
  ],
  [
    "order",
    "of messages in order one is under way, and the next is found: by its end, or by the mark that it has",
    `select min(id) as id from fairmill.outbox where order_key is not null and ended_at is null and waiting is null
     group by tenant, channel, order_key having count(*) > 1
     union all
     select min(w.id) from fairmill.outbox w where w.waiting is not null group by tenant, channel, order_key
     having not bool_or(w.recheck) and not exists (select from fairmill.outbox o where o.tenant = w.tenant and o.channel = w.channel
       and o.order_key = w.order_key and o.ended_at is null and o.waiting is null)`,
  ],
  [
    "I8",
    "a batch that is over has no live member, nothing inside that is not over, and nobody who holds it open",
    `select b.id from fairmill.batch b where b.ended_at is not null and (exists (select from fairmill.job j where j.batch = b.id)
       or exists (select from fairmill.batch c where c.parent = b.id and c.ended_at is null) or exists (select from fairmill.batch_hold h where h.batch = b.id))`,
  ],
  [
    "I8",
    "a batch that is not over has a reason, or upkeep looks at it",
    `select b.id from fairmill.batch b where b.state = 'pending' and b.check_at is null and not exists (select from fairmill.job j where j.batch = b.id)
       and not exists (select from fairmill.batch c where c.parent = b.id and c.ended_at is null)`,
  ],
  [
    "I8",
    "a node waits for those before it that are not over, as many as it says, or for the node around it",
    `select n.id from fairmill.batch n join fairmill.batch p on p.id = n.parent
     cross join lateral (select count(*) as waits from fairmill.batch_edge e join fairmill.batch x on x.id = e.before where e.after = n.id and x.ended_at is null) c
     where n.state = 'waiting' and (n.waits <> c.waits or n.waits = 0 and p.state <> 'waiting' or p.ended_at is not null)`,
  ],
  [
    "I8",
    "a batch that is over has called back, and one that is not has not succeeded",
    `select b.id from fairmill.batch b
     where b.ended_at is not null and b.callbacks ? 'complete' and b.complete_job is null
       or b.state = 'succeeded' and b.callbacks ? 'success' and b.success_job is null
       or b.dead > 0 and b.callbacks ? 'death' and b.death_job is null`,
  ],
  [
    "I8",
    "a batch counts each member that ended, once",
    `select b.id from fairmill.batch b
     cross join lateral (select count(*) filter (where h.state = 'done') as done, count(*) filter (where h.state = 'dead') as dead,
       count(*) filter (where h.state = 'cancelled') as cancelled from fairmill.job_history h where h.batch = b.id) c
     where b.role = 'batch' and (b.done, b.dead, b.cancelled) is distinct from (c.done, c.dead, c.cancelled)`,
  ],
];

const FUNCTION = `
create or replace function public.broken_invariants() returns table (rule integer, ids text[]) language plpgsql as $$
begin
${RULES.map(([, , query], n) => `  return query select ${n}, array_agg(q.id::text) from (select id from (${query}) all_of_them limit 10) q having count(*) > 0;`).join("\n")}
end
$$`;

/** Makes the rules a function of the database: one round trip asks all of them, and their plans are kept. */
export async function installInvariants(db: Pick<pg.Pool, "query">): Promise<void> {
  await db.query(FUNCTION);
}

export async function checkInvariants(db: Pick<pg.Pool, "query">): Promise<void> {
  const ask = () => db.query<{ rule: number; ids: string[] }>("select * from public.broken_invariants()");
  const { rows } = await ask().catch(async (error: { code?: string }) => {
    // A database that is no clone of the template.
    if (error.code !== "42883") throw error;
    await installInvariants(db);
    return ask();
  });
  for (const { rule, ids } of rows) {
    const [id, what] = RULES[rule]!;
    throw new Error(`${id} is broken (${what}) by ${ids.join(", ")}`);
  }
}
