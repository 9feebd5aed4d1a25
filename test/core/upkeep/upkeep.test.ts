// The loop of upkeep while what it does fails and goes on failing: by a clock of the test's own.
import { expect, test } from "vitest";
import { Bus } from "../../../src/base/bus.js";
import { ServiceLoop } from "../../../src/base/service.js";
import { Upkeep, type UpkeepNews } from "../../../src/core/upkeep/upkeep.js";
import { Database } from "../../../src/db/database.js";
import { ManualClock } from "../../support/clocks.js";
import { useDatabase } from "../../support/database.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();

test("an error that lasts is repeated less and less often, however often something is announced; what passes is done at once again", async () => {
  const clock = new ManualClock();
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 1, applicationName: "fairmill upkeep" });
  let troubles = 0;
  let reports = 0;
  const bus = new Bus<UpkeepNews>();
  bus.on("upkeep", () => void reports++);
  const settings = { crashesMax: 3, historyKeepMs: 86_400_000 };
  const upkeep = new ServiceLoop(clock, new Upkeep({ db: database, clock, bus, settings }), () => void troubles++);
  /** Twenty announcements a second. */
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds * 20; n++) {
      clock.move(50);
      bus.tell("due", 0);
      await waitUntil("upkeep sleeps", () => clock.timers.size > 0);
    }
  };
  await db.query("alter function fairmill.tick_upkeep_v1 rename to tick_upkeep_away");
  try {
    upkeep.start();
    await waitUntil("the first round has failed", () => troubles === 1 && clock.timers.size > 0);
    await pass(60);
    // After 0.5, 1 and 2 seconds, then every 3.
    expect(troubles).toBeGreaterThanOrEqual(15);
    expect(troubles).toBeLessThanOrEqual(24);
  } finally {
    await db.query("alter function fairmill.tick_upkeep_away rename to tick_upkeep_v1");
  }
  await pass(4);
  expect(reports).toBeGreaterThan(0);
  const before = reports;
  await pass(1);
  expect(reports - before).toBeGreaterThan(5);
  await upkeep.stop();
  await database.close();
});

test.each([
  ["every five seconds", 15_000, [false], 12],
  ["every ten while the worker sleeps and is notified", 15_000, [true], 6],
  ["no later than the lease and five seconds then", 1_000, [true], 10],
  ["every five again when it is not any more", 15_000, [true, false], 12],
])("where nothing is due, it looks %s", async (_, leaseMs, quiet, rounds) => {
  const clock = new ManualClock();
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 1, applicationName: "fairmill upkeep" });
  let reports = 0;
  const bus = new Bus<UpkeepNews>();
  bus.on("upkeep", () => void reports++);
  const settings = { crashesMax: 3, historyKeepMs: 86_400_000, leaseMs };
  const upkeep = new ServiceLoop(clock, new Upkeep({ db: database, clock, bus, settings }), () => {});
  for (const isQuiet of quiet) bus.tell("quiet", isQuiet);
  upkeep.start();
  const slept = () => waitUntil("upkeep sleeps", () => clock.timers.size > 0);
  await slept();
  // What only a new schema has to do is done.
  const before = reports;
  for (let n = 0; n < 600; n++) {
    clock.move(100);
    await slept();
  }
  // Rounds are spread by a few milliseconds each.
  expect(reports - before).toBeGreaterThanOrEqual(rounds - 1);
  expect(reports - before).toBeLessThanOrEqual(rounds);
  await upkeep.stop();
  await database.close();
});

test("a worker that stops being quiet has its upkeep look within five seconds", async () => {
  const clock = new ManualClock();
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 1, applicationName: "fairmill upkeep" });
  let reports = 0;
  const bus = new Bus<UpkeepNews>();
  bus.on("upkeep", () => void reports++);
  const settings = { crashesMax: 3, historyKeepMs: 86_400_000, leaseMs: 15_000 };
  const upkeep = new ServiceLoop(clock, new Upkeep({ db: database, clock, bus, settings }), () => {});
  bus.tell("quiet", true);
  upkeep.start();
  const slept = () => waitUntil("upkeep sleeps", () => clock.timers.size > 0);
  await slept();
  const before = reports;
  bus.tell("quiet", false);
  await slept();
  clock.move(5_000);
  await waitUntil("it has looked", () => reports > before);
  await upkeep.stop();
  await database.close();
});

test("a round that comes by itself is left to the worker that has just done it for all, and one for which there is a reason is not", async () => {
  const clock = new ManualClock();
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 1, applicationName: "fairmill upkeep" });
  const told: string[] = [];
  const bus = new Bus<UpkeepNews>();
  bus.on("upkeep", () => void told.push("done"));
  bus.on("covered", () => void told.push("left"));
  const upkeep = new Upkeep({ db: database, clock, bus, settings: { crashesMax: 3, historyKeepMs: 86_400_000 } });
  upkeep.connect(() => {});
  const { signal } = new AbortController();
  try {
    bus.tell("quiet", true);
    bus.tell("rested", { worker: "other", nextInMs: 60_000, emptyQueues: [] });
    await upkeep.runOnce(signal, true);
    await upkeep.runOnce(signal, false);
    clock.move(13_000);
    await upkeep.runOnce(signal, true);
    expect(told).toEqual(["left", "done", "done"]);
  } finally {
    await database.close();
  }
});
