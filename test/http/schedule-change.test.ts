// A schedule edited over HTTP: looked at first, recorded, narrowed to its tenant, never with an input that was shown redacted.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { serverFor } from "./server.js";

const db = useDatabase();
const report = defineJob({ kind: "report" });

async function withSchedule(tenant = "default") {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  await client.schedules.set("nightly", {
    ...{ cron: "0 3 * * *", timezone: "Europe/Madrid", tenant },
    ...{ job: report, input: { days: 1, token: "s3cret" } },
  });
  return client;
}

test("the next five runs of an expression are told before it is saved, and a wrong one is refused in words", async () => {
  const { ask } = serverFor(db);
  const path = `/next-runs?${new URLSearchParams({ cron: "0 4 * * *", timezone: "Europe/Madrid" })}`;
  const { body } = await ask<{ runs: string[] }>("viewer", "GET", path);
  expect(body.runs).toHaveLength(5);
  const times = body.runs.map((at) => new Date(at).toLocaleTimeString("en-GB", { timeZone: "Europe/Madrid" }));
  expect(new Set(times)).toEqual(new Set(["04:00:00"]));
  expect((await ask("viewer", "GET", "/next-runs?cron=every+day")).body).toMatchObject({ code: "FAIRMILL_CONFIG" });
});

test("a change is made by an admin, is on record without its input, and is refused after another one", async () => {
  await withSchedule();
  const { ask } = serverFor(db);
  const { body: seen } = await ask<{ updatedAt: string }>("admin", "GET", "/schedules/nightly");
  const change = { cron: "0 4 * * *", missed: { all: 2 }, input: { days: 7 }, unchangedSince: seen.updatedAt };
  expect((await ask("operator", "POST", "/schedules/nightly/change", change)).status).toBe(403);
  const made = await ask("admin", "POST", "/schedules/nightly/change", change);
  expect(made.body).toMatchObject({ cron: "0 4 * * *", missed: { all: 2 }, nextRuns: { length: 5 } });
  expect(await ask("admin", "POST", "/schedules/nightly/change", { ...change, cron: "0 5 * * *" })).toMatchObject({
    status: 409,
    body: { code: "FAIRMILL_SCHEDULE_CHANGED" },
  });
  expect(await db.query("select actor, action, detail, outcome from fairmill.audit_event order by id")).toEqual([
    {
      ...{ actor: "ada", action: "schedule.change", outcome: "done" },
      detail: { cron: "0 4 * * *", missed: { all: 2 }, input: "changed" },
    },
    expect.objectContaining({ outcome: "refused" }),
  ]);
});

test("the input is shown as payloads are: redacted, and said so", async () => {
  await withSchedule();
  const { ask } = serverFor(db, { redact: ["token"] });
  const { body } = await ask<{ input: { days: number; token: string } }>("viewer", "GET", "/schedules/nightly/input");
  expect(body).toMatchObject({ redacted: true, editable: true, input: { days: 1 } });
  expect(JSON.stringify(body)).not.toContain("s3cret");
});

test("a tenant's credential sees no schedule of another", async () => {
  await withSchedule("other");
  const { ask } = serverFor(db);
  expect((await ask("acmeViewer", "GET", "/schedules/nightly/input")).status).toBe(404);
});
