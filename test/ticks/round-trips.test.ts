// What a tick costs beside its jobs: on serverless platforms the database is milliseconds away, and each round trip is time in which nothing runs.
import { createClient, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { tickHandler } from "./handlers.js";

const db = useDatabase();
const work = defineJob({ kind: "work" });

test("an idle tick takes two round trips, and one that runs jobs three more: a claim, a settle, and a last look", async () => {
  const proxy = await TcpProxy.before(db.url);
  const handler = tickHandler({ databaseUrl: proxy.url, handlers: [handle(work, () => {})] });
  await using client = createClient({ databaseUrl: db.url });
  const count = async () => {
    const before = proxy.roundTrips;
    const { claimed } = await handler.tick();
    return { claimed, roundTrips: proxy.roundTrips - before };
  };
  // The first one checks the schema, tells limits and providers, and evaluates alerts.
  await count();
  expect(await count()).toEqual({ claimed: 0, roundTrips: 2 });
  await client.enqueueMany(work, [{ input: {} }, { input: {} }, { input: {} }]);
  expect(await count()).toEqual({ claimed: 3, roundTrips: 5 });
  expect(await count()).toEqual({ claimed: 0, roundTrips: 2 });
});

test("a tick whose upkeep fails leaves no worker behind that others wait for", async () => {
  const handler = tickHandler({ databaseUrl: db.url, handlers: [handle(work, () => {})] });
  await using client = createClient({ databaseUrl: db.url });
  await handler.tick();
  await client.enqueue(work, {});
  await db.query("alter function fairmill.tick_upkeep_v1(integer, integer, interval) rename to upkeep_away");
  try {
    await expect(handler.tick()).rejects.toThrow();
  } finally {
    await db.query("alter function fairmill.upkeep_away(integer, integer, interval) rename to tick_upkeep_v1");
  }
  expect(await db.query("select id from fairmill.worker where state = 'alive'")).toEqual([]);
  expect(await handler.tick()).toMatchObject({ claimed: 1, succeeded: 1 });
});
