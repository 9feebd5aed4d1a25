// The runs that a limit is replayed on: of the newest jobs, those of one tenant, queue or kind that ran in the last hour.
import type { Session } from "../db/session.js";
import type { LimitScope } from "./limit-settings.js";
import type { PastRun } from "./replay.js";

/** Ended jobs that are looked at, newest first. */
export const LOOKED_MAX = 50_000;

/** Parameters: name, since. Attempts that failed count as well. What still runs ends now, as far as this is concerned. */
const runsOf = (scope: LimitScope) => `with ended as materialized (
    select h.${scope} as name, h.lease_no, h.started_at, h.ended_at, h.failures from fairmill.job_history h order by h.id desc limit ${LOOKED_MAX}),
  own as (select e.lease_no, e.started_at, e.ended_at, e.failures from ended e where e.name = $1 and e.ended_at > $2),
  run as (
    select o.started_at, o.ended_at from own o where o.started_at is not null
    union all select (f ->> 'started_at')::timestamptz, (f ->> 'ended_at')::timestamptz from own o cross join lateral jsonb_array_elements(o.failures) f where (f ->> 'lease_no')::bigint <> o.lease_no
    union all select j.started_at, clock_timestamp() from fairmill.claimed_jobs(jobs_max => 10000) c join fairmill.job j on j.id = c.id
      where j.state = 'running' and j.${scope} = $1)
  select extract(epoch from r.started_at)::float8 * 1000 as "startMs", extract(epoch from r.ended_at)::float8 * 1000 as "endMs"
  from run r where r.started_at > $2`;

/** How far back the newest jobs go; null: they are all there are. */
const OLDEST = `select extract(epoch from min(h.ended_at))::float8 * 1000 as "oldestMs", count(*)::integer as looked from (
  select x.ended_at from fairmill.job_history x order by x.id desc limit ${LOOKED_MAX}) h`;

export async function readPastRuns(
  db: Session,
  scope: LimitScope,
  name: string,
  since: Date,
): Promise<{ runs: PastRun[]; isPart: boolean }> {
  const runs = await db.query<PastRun>(runsOf(scope), [name, since]);
  const [row] = await db.query<{ oldestMs: number | null; looked: number }>(OLDEST);
  const isPart = row!.looked >= LOOKED_MAX && (row!.oldestMs ?? 0) > since.getTime();
  return { runs, isPart };
}

const SETTING = `select s.max_running as "maxRunning", s.rate_limit as "limit", s.rate_per_ms::float8 as "perMs", s.rate_how as how, s.rate_at as at, s.weight
  from fairmill.limit_setting s where s.scope = $1 and s.name = $2`;

export interface StoredSetting {
  readonly maxRunning: number | null;
  readonly limit: number | null;
  readonly perMs: number | null;
  readonly how: "window" | "uniform" | null;
  readonly at: "start" | "enqueue" | null;
  readonly weight: number;
}

export const readSetting = async (db: Session, scope: LimitScope, name: string): Promise<StoredSetting | undefined> =>
  (await db.query<StoredSetting>(SETTING, [scope, name]))[0];
