// The statement of upkeep: everything that falls due, in one bounded call.
import { type Database, prepared, type Statement } from "../../db/database.js";

const UPKEEP = prepared(
  "select * from fairmill.tick_upkeep_v1(crashes_max => $1, history_keep => $2 * interval '1 millisecond')",
);

/**
 * The same for a fleet that sleeps: it also looks which of these queues are empty, and tells the others both, so that they need not. What upkeep itself
 * made ready it announces by itself.
 */
const RESTING = prepared(
  `with empty as materialized (
    select coalesce(json_agg(q.name), '[]')::text as queues from unnest($3::text[]) as q (name)
    where not exists (select from fairmill.lanes_v1(q.name, lanes_max => 1))),
  upkeep as materialized (
    select u.* from empty
    cross join lateral fairmill.tick_upkeep_v1(crashes_max => $1, history_keep => $2 * interval '1 millisecond') u)
  select upkeep.*, pg_notify($4, '!rested ' || $5 || ' ' || ceil(greatest(0, upkeep.next_in_ms))::bigint || ' '
    || case when octet_length(empty.queues) < 7000 then empty.queues else '[]' end)::text
  from upkeep cross join empty`,
);

export interface UpkeepReport {
  readonly promoted: number;
  readonly expired: number;
  readonly recovered: number;
  readonly ended: number;
  readonly removed: number;
  /** Batches that are over because they have no hold any more, and their registrations are stable. */
  readonly batches: readonly string[];
  /** Milliseconds until the next thing falls due; undefined when nothing will. */
  readonly nextInMs: number | undefined;
}

/** What a worker that sleeps tells the others of its round of upkeep. */
export interface Rested {
  readonly worker: string;
  /** Nothing falls due sooner. */
  readonly nextInMs: number;
  /** No job was ready in these queues. */
  readonly emptyQueues: readonly string[];
}

export interface UpkeepSettings {
  readonly crashesMax: number;
  readonly historyKeepMs: number;
}

/** The statement alone, for callers that send others behind it. */
export const upkeepStatement = ({ crashesMax, historyKeepMs }: UpkeepSettings): Statement => [
  UPKEEP,
  [crashesMax, historyKeepMs],
];

type UpkeepRow = Omit<UpkeepReport, "nextInMs"> & { readonly next_in_ms: number | null };

export function upkeepReportOf([row]: readonly unknown[]): UpkeepReport {
  const { promoted, expired, recovered, ended, removed, batches, next_in_ms } = row as UpkeepRow;
  return { promoted, expired, recovered, ended, removed, batches, nextInMs: next_in_ms ?? undefined };
}

/** A worker that sleeps, and the queues that it would look at. */
export interface Resting {
  readonly worker: string;
  readonly queues: readonly string[];
}

/** `resting`: tell the fleet, see above. */
export async function tickUpkeep(
  db: Database,
  settings: UpkeepSettings,
  answerMsMax: number,
  resting?: Resting,
): Promise<UpkeepReport> {
  const [text, values = []] = upkeepStatement(settings);
  return upkeepReportOf(
    resting
      ? await db.query(RESTING, [...values, resting.queues, db.schema, resting.worker], answerMsMax)
      : await db.query(text, values, answerMsMax),
  );
}
