// F3: each tick makes one job, however many workers look at the same moment, and whatever becomes of them.
import { type Client, createClient, handle, silentLogger } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Bus } from "../../src/base/bus.js";
import { systemClock } from "../../src/base/clock.js";
import { createWorkerEmitter } from "../../src/core/worker/worker-events.js";
import type { WorkerNews } from "../../src/core/worker/worker-news.js";
import { Database } from "../../src/db/database.js";
import { ScheduleTicker } from "../../src/schedules/ticker.js";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { startWorker } from "../support/jobs.js";
import { startWorkerProcess } from "../support/processes.js";
import { EVERY_SECOND, quick, ticksOn } from "./ticks.js";

const db = useDatabase();
const { ticksOf, seen, expectEachOnce } = ticksOn(db);
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

/** An expression that ticks once an hour, half an hour from now: nothing of it is on time. */
const hourly = `${(new Date().getUTCMinutes() + 30) % 60} * * * *`;
/** The process that ticks was asleep: the schedule is as a worker left it so many hours ago. */
const asleepFor = (hours: number) =>
  db.query("update fairmill.schedule set next_at = next_at - $1 * interval '1 hour'", [hours]);

describe("F3: each tick once", () => {
  test("with six who do upkeep, some of them a day off, and three schedules", async () => {
    const skews = [0, 86_400_000, -86_400_000, 3_600_000, -1_000, 0];
    const workers = await Promise.all(
      skews.map((skewMs) =>
        startWorker(db.url, [handle(quick, () => {})], {
          clock: { ...systemClock, now: () => Date.now() + skewMs },
        }),
      ),
    );
    const names = ["a", "b", "c"];
    await Promise.all(names.map((name) => client.schedules.set(name, EVERY_SECOND)));
    await Promise.all(names.map((name) => seen(name, 4)));
    await Promise.all(names.map((name) => client.schedules.pause(name)));
    await Promise.all(workers.map((worker) => worker.stop()));
    await expectEachOnce(names);
  });

  test("with eight who look at the same moment, a hundred times", async () => {
    await client.schedules.set("s", { ...EVERY_SECOND, cron: hourly, missed: { all: 2 } });
    const bases = Array.from(
      { length: 8 },
      () => new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "test" }),
    );
    const troubles: unknown[] = [];
    const tickers = bases.map(
      (base) =>
        new ScheduleTicker({
          db: base,
          bus: new Bus<WorkerNews>(),
          events: createWorkerEmitter(),
          identity: { id: "ticker" },
          log: silentLogger,
          trouble: (_, error) => void troubles.push(error),
        }),
    );
    let moved = 0;
    for (let n = 0; n < 100; n++) {
      await db.query("delete from fairmill.schedule_tick");
      await asleepFor(3);
      for (const count of await Promise.all(tickers.map((ticker) => ticker.tickDue()))) moved += count;
    }
    await Promise.all(bases.map((base) => base.close()));
    expect(troubles).toEqual([]);
    expect(await db.query("select count(*)::int as jobs from fairmill.job")).toEqual([{ jobs: 200 }]);
    expect(moved).toBe(100);
  });

  test("over processes that are killed between ticks and one that is asleep: no tick is lost, none is made twice", async () => {
    const random = dice(newSeed());
    await client.schedules.set("s", { ...EVERY_SECOND, missed: { all: 1_000 } });
    const start = () => startWorkerProcess(db.url, ["quick"], { lease: 1_000 });
    const asleep = await start();
    const fleet = [await start(), await start()];
    await seen("s", 1);
    asleep.signal("SIGSTOP");
    for (let kills = 1; kills <= 3; kills++) {
      await seen("s", (await ticksOf("s")).length + 1);
      const n = Math.floor(random() * fleet.length);
      await fleet[n]!.kill();
      fleet[n] = await start();
    }
    asleep.signal("SIGCONT");
    await seen("s", (await ticksOf("s")).length + 2);
    await client.schedules.pause("s");
    await Promise.all([asleep, ...fleet].map((worker) => worker.stop()));
    await expectEachOnce(["s"]);
  });

  test("by the clocks of its zone, whatever those of process and server show", async () => {
    const [{ name }] = (await db.query("select current_database() as name")) as [{ name: string }];
    await db.query(`alter database ${name} set timezone = 'Asia/Kathmandu'`);
    try {
      const worker = await startWorkerProcess(db.url, ["quick"], {}, undefined, undefined, { TZ: "America/New_York" });
      const now = new Date();
      const inZone = (timeZone: string) =>
        Number(now.toLocaleTimeString("en-GB", { timeZone, hour: "2-digit" }).slice(0, 2));
      // In each zone the hour that its clocks show now: all of them tick this second and the next ones, by UTC the same ones.
      const zones = ["Europe/Madrid", "Australia/Lord_Howe", "UTC", "Pacific/Apia"];
      await using fresh = createClient({ databaseUrl: db.url });
      for (const zone of zones)
        await fresh.schedules.set(zone, {
          ...EVERY_SECOND,
          cron: `* * ${inZone(zone)},${(inZone(zone) + 1) % 24} * * *`,
          timezone: zone,
        });
      await Promise.all(zones.map((zone) => seen(zone, 2)));
      await Promise.all(zones.map((zone) => fresh.schedules.pause(zone)));
      await worker.stop();
      await expectEachOnce(zones);
      for (const zone of zones)
        for (const { tick_at } of await ticksOf(zone))
          expect(Math.abs(tick_at.getTime() - Date.now())).toBeLessThan(30_000);
    } finally {
      await db.query(`alter database ${name} reset timezone`);
    }
  });
});
