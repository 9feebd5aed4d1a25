// A witness inside the database: every change of a job is written down in the transaction that makes it. Tests read it afterwards.
import type pg from "pg";
import { type JobState, mayBecome } from "../../src/core/job/states.js";

const WITNESS = `
  create table if not exists public.witness (n bigint generated always as identity, at timestamptz not null default clock_timestamp(),
    job bigint not null, was text, is_now text not null, lease_no bigint, worker text);
  create or replace function public.witness_live() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' then insert into public.witness (job, was, is_now, lease_no) values (new.id, null, new.state, new.lease_no);
    elsif new.state <> old.state then
      insert into public.witness (job, was, is_now, lease_no, worker) values (new.id, old.state, new.state, new.lease_no, coalesce(new.worker, old.worker));
    end if;
    return null;
  end $$;
  create or replace function public.witness_end() returns trigger language plpgsql as $$
  begin
    insert into public.witness (job, was, is_now, lease_no, worker) values (new.id, 'live', new.state, new.lease_no, new.worker);
    return null;
  end $$;
  create or replace trigger witness after insert or update on fairmill.job for each row execute function public.witness_live();
  create or replace trigger witness after insert on fairmill.job_history for each row execute function public.witness_end();`;

export interface Seen {
  readonly job: string;
  readonly is_now: JobState;
  readonly lease_no: string;
  readonly worker: string | null;
}

export async function installWitness(db: pg.Pool): Promise<void> {
  await db.query(WITNESS);
  await db.query("truncate public.witness");
}

/** Everything that was seen, by job, oldest first; throws when a job went a way that the transition table does not know. */
export async function readWitness(db: pg.Pool): Promise<Map<string, Seen[]>> {
  const { rows } = await db.query<Seen>("select job, is_now, lease_no, worker from public.witness order by n");
  const byJob = new Map<string, Seen[]>();
  for (const seen of rows) {
    const before = byJob.get(seen.job);
    if (!before) {
      byJob.set(seen.job, [seen]);
      continue;
    }
    const from = before.at(-1)!;
    if (!mayBecome(from.is_now, seen.is_now))
      throw new Error(`Job ${seen.job} went from ${from.is_now} to ${seen.is_now}.`);
    if (BigInt(seen.lease_no) < BigInt(from.lease_no))
      throw new Error(`Job ${seen.job}: its lease number fell from ${from.lease_no} to ${seen.lease_no}.`);
    before.push(seen);
  }
  return byJob;
}

/** How often each job was settled as ended: must be once. */
export const endsOf = (seen: readonly Seen[]): number =>
  seen.filter(({ is_now }) => ["done", "dead", "cancelled"].includes(is_now)).length;

/**
 * By tenant, queue, kind or limit key, how many jobs ran at once at the worst moment, as far as transitions tell: all jobs must have ended.
 * Sound whatever the clocks say: n is drawn when the change is made, and a claim that counts under a lock makes its changes after the
 * ends that it relies on were committed and before the lock goes to the next.
 */
export async function mostRunning(
  db: pg.Pool,
  by: "tenant" | "queue" | "kind" | "limit_key",
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ name: string; most: number }>(
    `select name, max(running)::integer as most
     from (select h.${by} as name, sum(s.step) over (partition by h.${by} order by s.n) as running
           from (select w.job, w.n, (w.is_now = 'running')::integer
                   - coalesce(lag(w.is_now) over (partition by w.job order by w.n) = 'running', false)::integer as step
                 from public.witness w) s
           join fairmill.job_history h on h.id = s.job where s.step <> 0) r
     group by name`,
  );
  return new Map(rows.map(({ name, most }) => [name, most]));
}
