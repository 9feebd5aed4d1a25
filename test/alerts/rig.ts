// A keeper of alerts whose rounds follow each other at once, and jobs for it to count.
import { afterEach } from "vitest";
import { AlertKeeper, type ToldChange } from "../../src/alerts/alert-keeper.js";
import { type AlertRules, rulesInForce } from "../../src/alerts/rule.js";
import { silentLogger } from "../../src/base/log.js";
import { Database } from "../../src/db/database.js";
import type { TestDatabase } from "../support/database.js";

export const AT_ONCE = { "queue-depth-10": { for: 0, clearFor: 0 }, "queue-depth-50": { for: 0, clearFor: 0 } };
export const briefly = (changes: readonly ToldChange[] | undefined) =>
  changes?.map(({ rule, subject, change }) => [rule, subject, change]);

export function alertsRig(db: TestDatabase) {
  const open: Database[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  /** Rounds follow each other at once. */
  function keeper(rules: AlertRules = {}, channels: string[] = [], logger = silentLogger): AlertKeeper {
    const database = new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "alerts" });
    open.push(database);
    return new AlertKeeper(
      { db: database, log: logger, identity: { id: "w" } },
      { rules: rulesInForce(rules), channels, everyMs: 0 },
    );
  }
  const fill = (count: number) =>
    db.query(
      "insert into fairmill.job (kind, queue, tenant, state, payload) select 'k', 'mails', 't', 'ready', '{}' from generate_series(1, $1)",
      [count],
    );
  const serve = () =>
    db.query("select fairmill.register_v1('w', '{mails}', interval '1 hour', null, 5, 'host', 1, '0.1.0')");

  return { open, keeper, fill, serve };
}
