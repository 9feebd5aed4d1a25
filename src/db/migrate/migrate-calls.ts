// The calls of a client about the schema.

import type { Clock } from "../../base/clock.js";
import { refuseUnknown } from "../../base/settings.js";
import type { Database } from "../database.js";
import { explaining } from "../explain-failure.js";
import { type MigrateOptions, migrate, pendingMigrations } from "./migrate.js";

export interface MigrateCalls {
  /** Brings the schema up to date; safe to call at every start, from several processes at once. Returns what was applied. */
  migrate(options?: MigrateOptions): Promise<string[]>;
  /** What `migrate` would apply or put right. */
  pendingMigrations(): Promise<string[]>;
}

export const migrateCalls = (
  db: Database,
  clock: Clock,
  during: <T>(work: () => Promise<T>) => Promise<T>,
): MigrateCalls => ({
  migrate: (options = {}) =>
    during(() =>
      explaining(db.schema, async () => {
        refuseUnknown(options, ["onWait"], "migrate");
        return migrate(db, { ...options, clock });
      }),
    ),
  pendingMigrations: () => during(() => explaining(db.schema, () => pendingMigrations(db))),
});
