// The statement of upkeep: everything that falls due, in one bounded call.
import { type Database, prepared } from "../../db/database.js";

const UPKEEP = prepared(
  "select * from fairmill.tick_upkeep_v1(crashes_max => $1, history_keep => $2 * interval '1 millisecond')",
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

export interface UpkeepSettings {
  readonly crashesMax: number;
  readonly historyKeepMs: number;
}

export async function tickUpkeep(db: Database, settings: UpkeepSettings, answerMsMax: number): Promise<UpkeepReport> {
  const [row] = await db.query<Omit<UpkeepReport, "nextInMs"> & { next_in_ms: number | null }>(
    UPKEEP,
    [settings.crashesMax, settings.historyKeepMs],
    answerMsMax,
  );
  const { next_in_ms, ...counts } = row!;
  return { ...counts, nextInMs: next_in_ms ?? undefined };
}
