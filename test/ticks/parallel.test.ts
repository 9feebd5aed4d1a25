// `parallel`: so many ticks of a handler work at once, in whatever processes; a killed one gives its place back by the clock.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { gate } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { rightCall, tickHandler } from "./handlers.js";

const db = useDatabase();
const work = defineJob({ kind: "work" });
const quick = [handle(work, () => {})];
const NOTHING = { claimed: 0, succeeded: 0, failed: 0, throttled: 0 };

const fill = async (count: number) => {
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    work,
    Array.from({ length: count }, () => ({ input: {} })),
  );
};

test("as many ticks as may work at once, in handlers of their own; one more ends at once, does nothing, and writes no row", async () => {
  await fill(5);
  const held = gate();
  let running = 0;
  const slow = [
    handle(work, () => {
      running++;
      return held.promise;
    }),
  ];
  const one = () => tickHandler({ databaseUrl: db.url, handlers: slow, parallel: 2, maxJobsPerTick: 1 });
  const working = [one().tick(), one().tick()];
  await waitUntil("two work", () => running === 2);
  const third = await one().tick();
  expect(third).toMatchObject({ ...NOTHING, remaining: 3 });
  expect(third.nextAt).not.toBeNull();
  expect(await db.query("select from fairmill.worker_tick_metrics")).toEqual([]);
  // Another handler has places of its own.
  const other = tickHandler({
    databaseUrl: db.url,
    handlers: [handle(defineJob({ kind: "other" }), () => {})],
    parallel: 1,
  });
  expect(await other.tick()).toMatchObject({ claimed: 0 });
  expect(await db.query("select from fairmill.worker_tick_metrics")).toHaveLength(1);
  held.open();
  for (const tick of working) expect(await tick).toMatchObject({ claimed: 1, succeeded: 1 });
  expect(await one().tick()).toMatchObject({ claimed: 1, succeeded: 1, remaining: 2 });
  expect(await db.query("select worker from fairmill.tick_slot where worker is not null")).toEqual([]);
});

test("the place of a killed function is free when its lease is over, and not before; its late goodbye does not take it from another", async () => {
  await fill(2);
  const child = fork(new URL("./tick-process.mjs", import.meta.url), {
    env: { ...process.env, TEST_TICK: JSON.stringify({ url: db.url, budget: 20_000, parallel: 1 }) },
  });
  await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  const handler = tickHandler({ databaseUrl: db.url, handlers: quick, parallel: 1 });
  expect(await handler.tick()).toMatchObject(NOTHING);
  const [slot] = (await db.query<{ handler: string; worker: string; s: number }>(
    "select handler, worker, extract(epoch from lease_until - clock_timestamp())::float8 as s from fairmill.tick_slot",
  )) as [{ handler: string; worker: string; s: number }];
  expect(slot.s).toBeGreaterThan(5);
  expect(slot.s).toBeLessThanOrEqual(25);
  // Its time comes.
  await db.query("update fairmill.tick_slot set lease_until = clock_timestamp() - interval '1 millisecond'");
  await db.query("update fairmill.worker set lease_until = clock_timestamp() - interval '1 millisecond'");
  expect(await handler.tick()).toMatchObject({ claimed: 2, succeeded: 2 });

  const take = async (worker: string) =>
    (
      await db.query("select fairmill.take_tick_slot_v1($1, $2, 1, interval '1 hour') as slot", [slot.handler, worker])
    )[0];
  const leave = async (worker: string) =>
    (await db.query("select fairmill.leave_tick_slot_v1($1, $2) as left", [slot.handler, worker]))[0];
  expect(await take("new")).toEqual({ slot: 1 });
  expect(await leave(slot.worker)).toEqual({ left: false });
  expect(await take("third")).toEqual({ slot: null });
  expect(await leave("new")).toEqual({ left: true });
  expect(await take("third")).toEqual({ slot: 1 });
});

test("a tick that fails gives its place back", async () => {
  const handler = tickHandler({ databaseUrl: db.url, handlers: quick, parallel: 1 });
  await handler.tick();
  await db.query("alter function fairmill.tick_upkeep_v1(integer, integer, interval) rename to upkeep_away");
  try {
    await expect(handler.tick()).rejects.toThrow();
  } finally {
    await db.query("alter function fairmill.upkeep_away(integer, integer, interval) rename to tick_upkeep_v1");
  }
  await fill(1);
  expect(await handler.tick()).toMatchObject({ claimed: 1, succeeded: 1 });
});

test("forty sessions that ask for three places at once get three", async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      db.query<{ slot: number | null }>("select fairmill.take_tick_slot_v1('h', $1, 3, interval '1 hour') as slot", [
        `w${n}`,
      ]),
    ),
  );
  const taken = answers.flatMap(([row]) => row!.slot ?? []);
  // Who meets another in the act is sent away: fewer may come in, never more.
  expect(new Set(taken).size).toBe(taken.length);
  const [{ held }] = (await db.query<{ held: number }>(
    "select count(*)::integer as held from fairmill.tick_slot where worker is not null",
  )) as [{ held: number }];
  expect(held).toBe(taken.length);
  expect(held).toBeLessThanOrEqual(3);
});

test("one call brings about so many beside itself, and all that follows from it is bounded", async () => {
  await fill(200);
  const hops: string[] = [];
  const under: Promise<unknown>[] = [];
  let running = 0;
  let most = 0;
  const together = gate();
  const server = createServer((request, response) => {
    hops.push(String(request.headers["x-fairmill-hop"]));
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.startsWith("x-")));
    void handler(new Request(url, { method: "POST", headers: headers as Record<string, string> })).then((answer) => {
      response.statusCode = answer.status;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tick`;
  const handler = tickHandler({
    databaseUrl: db.url,
    handlers: [
      handle(work, async () => {
        most = Math.max(most, ++running);
        if (running === 3) together.open();
        await together.promise;
        running--;
      }),
    ],
    concurrency: 1,
    maxJobsPerTick: 2,
    parallel: 3,
    respond: "early",
    selfCall: { url, hopsMax: 2 },
    waitUntil: (work) => void under.push(work),
  });
  await handler(rightCall());
  await waitUntil("three ticks work at once", () => most === 3);
  for (let i = 0; i < under.length; i++) await under[i];
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  // Two beside the first, each of the three followed at most twice, and none of those brings about others.
  expect(hops.filter((hop) => hop === "1").length).toBe(3);
  expect(hops.filter((hop) => hop === "2").length).toBeLessThanOrEqual(3);
  expect(hops.every((hop) => hop === "1" || hop === "2")).toBe(true);
  expect(most).toBe(3);
  const [{ claimed }] = (await db.query<{ claimed: number }>(
    "select sum(jobs_claimed)::integer as claimed from fairmill.worker_tick_metrics",
  )) as [{ claimed: number }];
  expect(claimed).toBeLessThanOrEqual(14);
});
