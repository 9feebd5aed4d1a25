// Rates in detail: the moment of a start is taken under the locks, so that it is later than all that was spent before.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { openSession } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const CLAIM = `select id from fairmill.claim_lanes_v1('w', '{default}', '{0}', '{acme}', '{0}', '{1}', null, 1) where id is not null`;

test.each(["tenant", "key"] as const)(
  "P7: a claim that waits for the meter of a %s starts its job afterwards",
  async (scope) => {
    const client = createClient({ databaseUrl: db.url });
    const rate = { limit: 5, per: "1s" } as const;
    const job = defineJob({ kind: "job", key: () => "u1", ...(scope === "key" ? { limits: { rate } } : {}) });
    if (scope === "tenant") await client.tenants.set("acme", { rate });
    await client.enqueueMany(job, [
      { input: {}, tenant: "acme" },
      { input: {}, tenant: "acme" },
    ]);
    await db.query("select fairmill.register_v1('w', '{default}', '1 hour')");
    // The first claim makes the meter.
    await db.query(CLAIM);
    const [holder, claimer] = await Promise.all([openSession(db.url), openSession(db.url)]);
    await holder.query("begin");
    expect(await holder.query("select from fairmill.meter where scope = $1 for update", [scope])).toHaveLength(1);
    const claimed = claimer.query<{ id: string }>(CLAIM);
    await waitUntil(
      "the claim waits",
      async () =>
        (await db.query("select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'", [claimer.pid]))
          .length > 0,
    );
    const [moment] = await holder.query<{ at: string }>("select clock_timestamp()::text as at");
    await holder.query("commit");
    const [{ id }] = (await claimed) as [{ id: string }];
    expect(await db.query("select from fairmill.job where id = $1 and started_at > $2", [id, moment!.at])).toHaveLength(
      1,
    );
    await Promise.all([holder.close(), claimer.close()]);
    await client.close();
  },
);
