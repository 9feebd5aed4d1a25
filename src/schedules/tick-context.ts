// Ticks in the context of handlers.
import type { Claim } from "../core/job/claim.js";
import type { ContextMembers } from "../core/run/context.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import type { Tick } from "./schedule.js";
import { readTick } from "./schedule-tick-statements.js";

export interface TickContext {
  /** Which tick of which schedule made this job, asked of the database; undefined when it was enqueued otherwise. */
  tick(): Promise<Tick | undefined>;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends TickContext {}
}

/** Of which tick of a schedule a job is. */
export type TickReader = (claim: Claim) => Promise<Tick | undefined>;

export const tickReader =
  (db: Database): TickReader =>
  ({ id }) =>
    explaining(db.schema, () => readTick(db, id));

export const tickMembers = (tickOf: TickReader): ContextMembers<keyof TickContext> => ({
  tick:
    ({ claim }) =>
    () =>
      tickOf(claim),
});
