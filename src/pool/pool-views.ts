// What the HTTP API shows of pools: their supervisors with children, and a page of decisions.
import type { Session } from "../db/session.js";
import type { ScaleInputs } from "./scale/brain.js";

const CHILDREN_MAX = 500;
const SUPERVISORS_MAX = 500;

export interface PoolView {
  readonly pool: string;
  readonly policy: string | null;
  readonly min: number;
  readonly max: number;
  /** Of one host. */
  readonly wanted: number;
  /** Null: no supervisor of the pool lives. */
  readonly supervisor: string | null;
  readonly worker: string | null;
  readonly host: string | null;
  readonly leader: string | null;
  readonly children: readonly PoolChild[];
}

export interface PoolChild {
  readonly pid: number | null;
  readonly state: "idle" | "ready" | "working" | "failed" | "terminated";
  readonly draining: boolean;
  readonly reason: string | null;
  readonly failures: number;
  readonly memoryBytes: number;
  readonly cpu: number;
  readonly changedAt: string;
}

/** A decision that is too old is no longer what is wanted: then it is the minimum. Where pods are scaled, the children of each are fixed. */
const POOLS = `select p.name as pool, p.settings ->> 'policy' as policy, coalesce((p.settings ->> 'min')::integer, 0) as min,
    coalesce((p.settings ->> 'max')::integer, 0) as max, s.id as supervisor, s.worker, s.host,
    case when p.leader_until > clock_timestamp() then p.leader end as leader,
    case when p.settings ? 'children_per_pod' then (p.settings ->> 'children_per_pod')::integer
      when p.desired is not null and p.decided_at > clock_timestamp() - 3 * p.decide_every
      then ceil(p.desired::float8 / greatest(1, count(s.id) over (partition by p.name)))::integer
      else coalesce((p.settings ->> 'min')::integer, 0) end as wanted,
    coalesce((select json_agg(json_build_object('pid', c.pid, 'state', c.state, 'draining', c.draining, 'reason', c.reason, 'failures', c.failures,
        'memoryBytes', c.memory_bytes, 'cpu', c.cpu, 'changedAt', c.changed_at) order by c.number)
      from (select * from fairmill.child x where x.supervisor = s.id order by x.number limit ${CHILDREN_MAX}) c), '[]') as children
  from fairmill.pool p left join fairmill.supervisor s on s.pool = p.name and s.seen_at > clock_timestamp() - 3 * s.report_every
  order by p.name, s.id limit ${SUPERVISORS_MAX}`;

/** Workers that the pool should have over all its hosts; undefined: there is no such pool. */
export async function readDesired(db: Session, pool: string): Promise<number | undefined> {
  const [row] = await db.query<{ desired: number | null }>("select fairmill.desired_workers_v1($1) as desired", [pool]);
  return row?.desired ?? undefined;
}

/** A row for each living supervisor, and one for each pool that has none. */
export const readPools = (db: Session): Promise<PoolView[]> => db.query<PoolView>(POOLS);

export interface DecisionView {
  readonly id: string;
  readonly pool: string;
  readonly action: "up" | "down" | "suppressed";
  readonly current: number;
  readonly wanted: number;
  readonly target: number;
  readonly reason: string;
  readonly inputs: Partial<ScaleInputs>;
  readonly at: Date;
}

/** One that was repeated belongs to all the time that it lasted. */
const DECISIONS = `select d.id::text as id, d.pool, d.action, d.current, d.wanted, d.target, d.reason, d.inputs, d.at from fairmill.scale_decision d
  where d.at < $2 and d.last_at >= $1 and ($3::text is null or d.pool = $3) and ($4::bigint is null or d.id < $4) order by d.id desc limit $5`;

export const readDecisionPage = (
  db: Session,
  sinceMs: number,
  untilMs: number,
  pool: string | undefined,
  before: string | undefined,
  limit: number,
): Promise<DecisionView[]> =>
  db.query<DecisionView>(DECISIONS, [new Date(sinceMs), new Date(untilMs), pool ?? null, before ?? null, limit]);

/** The bound that a decision met, as its reason names it; null: none. */
export const boundIn = (reason: string): string | null =>
  /^(?:wanted \d+, )?\d+ by ([^:]+)/.exec(reason)?.[1] ??
  /^(the (?:minimum|floor .+)) is \d+$/.exec(reason)?.[1] ??
  null;
