// Ticks in the context of handlers.
import type { ContextMembers } from "../core/run/context.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";
import type { Tick } from "./schedule.js";
import { readTick } from "./schedule-statements.js";

export interface TickContext {
  /** Which tick of which schedule made this job, asked of the database; undefined when it was enqueued otherwise. */
  tick(): Promise<Tick | undefined>;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends TickContext {}
}

export const tickMembers = (db: Database): ContextMembers<keyof TickContext> => ({
  tick:
    ({ claim }) =>
    () =>
      explaining(db.schema, () => readTick(db, claim.id)),
});
