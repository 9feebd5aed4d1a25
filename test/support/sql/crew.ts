// Workers by SQL alone: sessions that claim, do what the test says, settle in groups whose commits take their time, and die at random.
import { type Asker, type Claimed, claim, endLease, register, settle, tick, type VerdictName } from "./calls.js";
import { openSession, type Session } from "./sessions.js";

export interface CrewOptions {
  readonly random: () => number;
  readonly workers: number;
  /** What a worker does with a job before it is settled. */
  readonly run?: (session: Session, job: Claimed) => Promise<unknown>;
  readonly verdictOf: (job: Claimed) => VerdictName;
}

export interface CrewCounts {
  kills: number;
  /** Settles of more than one job. */
  grouped: number;
}

let crews = 0;

/** Works until no job is left. */
export async function runCrew(db: Asker & { readonly url: string }, options: CrewOptions): Promise<CrewCounts> {
  const counts: CrewCounts = { kills: 0, grouped: 0 };
  const crew = ++crews;
  const sessions = await Promise.all(Array.from({ length: options.workers }, () => openSession(db.url)));
  await Promise.all(sessions.map((session, i) => work(session, `crew ${crew}, ${i}`, options, counts)));
  await Promise.all(sessions.map((session) => session.close()));
  return counts;
}

async function work(session: Session, name: string, options: CrewOptions, counts: CrewCounts): Promise<void> {
  const { random } = options;
  let lives = 0;
  let me = await register(session, `${name}.0`);
  for (;;) {
    const jobs = await claim(session, me, 1 + Math.floor(random() * 8), { tenantMax: 100 });
    if (jobs.length === 0 && (await isOver(session))) return;
    for (const job of jobs) await options.run?.(session, job);
    if (random() < 0.06 && jobs.length > 0) {
      // It dies with what it has claimed; another worker takes over, and it comes back under another name.
      counts.kills++;
      await endLease(session, me);
      me = await register(session, `${name}.${++lives}`);
    } else if (jobs.length > 0) {
      if (jobs.length > 1) counts.grouped++;
      await settleSlowly(session, me, jobs, options);
    }
    if (jobs.length === 0 || random() < 0.1) await session.query("select fairmill.tick_upkeep_v1(crashes_max => 1000)");
  }
}

/** Like a settle whose commit takes its time to reach the disk: what happens beside it does not see it yet. */
async function settleSlowly(
  session: Session,
  me: string,
  jobs: readonly Claimed[],
  { random, verdictOf }: CrewOptions,
): Promise<void> {
  const sorted = jobs.toSorted((a, b) => Number(a.id) - Number(b.id));
  const details = sorted.map(() => ({ error: { message: "no" }, delay_ms: Math.floor(random() * 20) }));
  await session.query("begin");
  await settle(session, me, sorted, sorted.map(verdictOf), details);
  if (random() < 0.3) await session.query("select pg_sleep($1)", [random() / 100]);
  await session.query("commit");
}

async function isOver(session: Session): Promise<boolean> {
  await tick(session);
  const [row] = await session.query<{ left: boolean }>("select exists (select from fairmill.job) as left");
  return !row!.left;
}
