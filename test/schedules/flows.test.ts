// Schedules whose ticks start flows: each tick once, whichever worker ticks it.
import { createClient, createWorker, defineFlow, defineJob, handle, silentLogger } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const work = defineJob<{ n: number }>({ kind: "work" });
const night = defineFlow<{ n: number }>({ name: "night" }, (nodes) => {
  const first = nodes.job("first", work, ({ n }) => ({ n }));
  nodes.job("second", work, ({ n }) => ({ n: n + 1 }), { after: [first] });
});
const flows = () =>
  db.query<{ id: string; tenant: string; state: string }>(
    "select id::text, tenant, state from fairmill.batch where role = 'flow' order by id",
  );

test("a tick starts the flow, and several sessions that tick it at once start it once", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const nightly = { cron: "0 3 * * *", flow: night, input: { n: 1 }, tenant: "acme", missed: { all: 3 } } as const;
  expect(await client.schedules.set("nightly", nightly)).toMatchObject({ outcome: "created" });
  expect(await client.schedules.set("nightly", nightly)).toMatchObject({ outcome: "same" });
  expect(await client.schedules.get("nightly")).toMatchObject({ kind: "night", startsFlows: true, tenant: "acme" });
  await db.query("update fairmill.schedule set next_at = now() - interval '2 days'");
  const [{ revision }] = (await db.query<{ revision: string }>("select revision from fairmill.schedule")) as [
    { revision: string },
  ];
  const tick = () =>
    db.query(
      `select ticked from fairmill.tick_schedule_v1('nightly', $1,
         array[date_trunc('day', now()) - interval '1 day', date_trunc('day', now())], null, now() + interval '1 hour')`,
      [revision],
    );
  const answers = (await Promise.all([tick(), tick(), tick(), tick()])).flat();
  expect(answers.filter(({ ticked }) => ticked)).toHaveLength(1);
  expect(await flows()).toMatchObject([
    { tenant: "acme", state: "pending" },
    { tenant: "acme", state: "pending" },
  ]);
  const ticks = await db.query("select flow_id::text as id from fairmill.schedule_tick order by tick_at");
  expect(ticks).toEqual((await flows()).map(({ id }) => ({ id })));
  // A tick whose row is gone is not started again: its flow has the key.
  await db.query("delete from fairmill.schedule_tick");
  await db.query("update fairmill.schedule set next_at = now() - interval '2 days'");
  await db.query(
    `select fairmill.tick_schedule_v1('nightly', (select revision from fairmill.schedule),
       array[date_trunc('day', now())], null, now() + interval '1 hour')`,
  );
  expect(await flows()).toHaveLength(2);
});

test("a worker ticks it, and runs the flow to its end; by hand it runs as well", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.schedules.set("often", { cron: "* * * * * *", flow: night, input: { n: 1 } });
  await using worker = createWorker({
    databaseUrl: db.url,
    logger: silentLogger,
    handlers: [handle(work, () => undefined)],
  });
  await worker.start();
  await waitUntil("a flow has succeeded", async () => (await flows()).some(({ state }) => state === "succeeded"));
  await client.schedules.pause("often");
  const { id } = await client.schedules.run("often");
  expect((await client.flows.wait(id)).state).toBe("succeeded");
});

test("what makes no sense for a flow is refused by name", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const keyed = client.schedules.set("x", { cron: "0 3 * * *", flow: night, input: { n: 1 }, key: "k" });
  await expect(keyed).rejects.toThrow(/key/);
  const none = client.schedules.set("x", { cron: "0 3 * * *", flow: {} as never, input: {} });
  await expect(none).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
});
