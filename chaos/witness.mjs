// A witness inside the database: every change of a job is written down in the transaction that makes it, and read when all is over.
import { mayBecome } from "../dist/core/job/states.js";

export const WITNESS = `
  create table public.booking (job bigint not null);
  create table public.witness (n bigint generated always as identity, job bigint not null, is_now text not null, lease_no bigint, worker text);
  create function public.witness_live() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' or new.state <> old.state or new.lease_no <> old.lease_no then
      insert into public.witness (job, is_now, lease_no, worker) values (new.id, new.state, new.lease_no, new.worker);
    end if;
    return null;
  end $$;
  create function public.witness_end() returns trigger language plpgsql as $$
  begin
    insert into public.witness (job, is_now, lease_no, worker) values (new.id, new.state, new.lease_no, new.worker);
    return null;
  end $$;
  create trigger witness after insert or update on fairmill.job for each row execute function public.witness_live();
  create trigger witness after insert on fairmill.job_history for each row execute function public.witness_end();`;

const ENDS = new Set(["done", "dead", "cancelled"]);
const MAX = 20;

/** Steps that the table of states does not know, lease numbers that fell, jobs that ended more or less often than once. */
export function judgeWitness(rows) {
  const last = new Map();
  const ends = new Map();
  const problems = [];
  let transitions = 0;
  for (const { job, is_now: state, lease_no: lease } of rows) {
    const before = last.get(job);
    last.set(job, { state, lease });
    if (ENDS.has(state)) ends.set(job, (ends.get(job) ?? 0) + 1);
    if (before === undefined) continue;
    transitions++;
    if (before.state !== state && !mayBecome(before.state, state))
      problems.push(`P3: job ${job} went from ${before.state} to ${state}`);
    if (BigInt(lease) < BigInt(before.lease)) problems.push(`P3: the lease number of job ${job} fell`);
  }
  for (const [job, times] of ends) if (times > 1) problems.push(`P3: job ${job} ended ${times} times`);
  return { transitions, problems: problems.slice(0, MAX) };
}

/** How many ran at once at the worst moment, by this column: changes of one limit are made under its lock, in the order of n. */
export const mostRunning = (by) => `
  select name, max(running)::integer as most
  from (select h.${by} as name, sum(s.step) over (partition by h.${by} order by s.n) as running
        from (select w.job, w.n, (w.is_now = 'running')::integer
                - coalesce(lag(w.is_now) over (partition by w.job order by w.n) = 'running', false)::integer as step
              from public.witness w) s
        join fairmill.job_history h on h.id = s.job where s.step <> 0) r
  where name is not null group by name`;
