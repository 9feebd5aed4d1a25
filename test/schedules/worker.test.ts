// F3: schedules over real workers: whichever are there, asleep, or wrong about the time; and what goes wrong with a tick.
import { randomBytes } from "node:crypto";
import { type Client, createClient, createCodec, defineJob, handle, type ScheduleOptions, type Tick } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jitterOf } from "../../src/schedules/schedule.js";
import { withoutTimersOf } from "../support/clocks.js";
import { useDatabase } from "../support/database.js";
import { asleep, eventOf, keepingLogger, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
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

describe("the database's clock went back by an hour", () => {
  /** Everything about schedules is as a clock that was an hour ahead left it. */
  const wasAhead = async () => {
    const hour = "interval '1 hour'";
    await db.query(`update fairmill.schedule set next_at = next_at + ${hour}, moved_at = moved_at + ${hour},
      last_tick_at = last_tick_at + ${hour}, not_before = not_before + ${hour}`);
    await db.query(`update fairmill.schedule_tick set tick_at = tick_at + ${hour}, made_at = made_at + ${hour}`);
  };

  test("ticks go on at once, none is made twice, and the log says it", async () => {
    const logger = keepingLogger();
    await client.schedules.set("each", EVERY_SECOND);
    const first = await startWorker(db.url, [handle(quick, () => undefined)]);
    await seen("each", 2);
    await first.stop();
    await wasAhead();
    const ahead = (await ticksOf("each")).length;
    await using _ = await startWorker(db.url, [handle(quick, () => undefined)], { logger });
    await seen("each", ahead + 2);
    const ticks = (await ticksOf("each")).map(({ tick_at }) => tick_at.getTime());
    expect(new Set(ticks).size).toBe(ticks.length);
    expect(ticks[0]! - Date.now()).toBeLessThan(60_000);
    expect(logger.lines.filter(({ facts }) => facts["schedule"] === "each" && facts["next"])).toHaveLength(1);
  });

  test("a tick that was made ahead of time has its job, and gets no other when its time comes", async () => {
    await client.schedules.set("each", EVERY_SECOND);
    // Made while the clock was ahead, for each of the next seconds.
    await db.query(`insert into fairmill.schedule_tick (schedule, tick_at, job_id)
      select 'each', date_trunc('second', now()) + n * interval '1 second', 4711 from generate_series(0, 4) n`);
    await wasAheadOnly();
    await using worker = await startWorker(db.url, [handle(quick, () => undefined)]);
    await eventOf(worker, "ticked", ({ jobIds }) => jobIds.length > 0);
    const made = await db.query<{ n: number }>(
      "select count(*)::integer as n from fairmill.schedule_tick where job_id = 4711",
    );
    expect(made).toEqual([{ n: 5 }]);
    const [first] = await db.query<{ late: boolean }>(
      `select min(tick_at) filter (where job_id <> 4711) > max(tick_at) filter (where job_id = 4711) as late
       from fairmill.schedule_tick`,
    );
    expect(first).toEqual({ late: true });
  });

  test("also of one that could not be ticked then, and of one that was paused then and is resumed now", async () => {
    await client.schedules.set("held", EVERY_SECOND);
    await client.schedules.set("paused", EVERY_SECOND);
    await db.query(
      "select fairmill.postpone_schedule_v1('held', revision, '{}') from fairmill.schedule where name = 'held'",
    );
    await client.schedules.pause("paused");
    await wasAhead();
    await client.schedules.resume("paused");
    await using _ = await startWorker(db.url, [handle(quick, () => undefined)]);
    await seen("held", 1);
    await seen("paused", 1);
  });

  const wasAheadOnly = () =>
    db.query(
      `update fairmill.schedule set next_at = next_at + interval '1 hour', moved_at = moved_at + interval '1 hour'`,
    );
});

describe("a worker", () => {
  test("makes the jobs of a schedule that is declared while it sleeps, in time, and handlers know their tick", async () => {
    const heard: Tick[] = [];
    const listening = handle(quick, async (ctx) => void heard.push((await ctx.tick())!));
    // It never just looks around: it is told of the schedule, and sets a timer for each tick.
    await using worker = await startWorker(db.url, [listening], { clock: withoutTimersOf(2_000) });
    await asleep(worker);
    const { nextRun } = await client.schedules.set("each", EVERY_SECOND);
    expect(nextRun!.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    await waitUntil("three ticks were handled", () => heard.length >= 3);
    expect(heard[0]).toEqual({ schedule: "each", at: nextRun });
    await client.schedules.pause("each");
    await worker.stop();
    await expectEachOnce(["each"]);
    const [first] = await ticksOf("each");
    expect(await client.job(first!.job_id!)).toMatchObject({ state: "done", tick: heard[0] });
    expect((await client.schedules.list())[0]).toMatchObject({ lastTick: (await ticksOf("each")).at(-1)!.tick_at });
  });

  test("a job that no schedule made has no tick", async () => {
    await using _ = await startWorker(db.url, [handle(quick, async (ctx) => String(await ctx.tick()))]);
    const { id } = await client.enqueue(quick, {});
    expect(await client.result(id)).toBe("undefined");
  });
});

describe("F3: ticks that no worker saw in time", () => {
  const policies: readonly (readonly [string, Partial<ScheduleOptions<object>>, number])[] = [
    ["skip: none", { missed: "skip" }, 0],
    ["once: the latest", { missed: "once" }, 1],
    ["once is the default", {}, 1],
    ["all: the latest three", { missed: { all: 3 } }, 3],
    ["all: no more than there are", { missed: { all: 1_000 } }, 5],
  ];
  test.each(policies)("%s", async (_, policy, made) => {
    await client.schedules.set("s", { ...EVERY_SECOND, cron: hourly, ...policy });
    const [{ next_at: next }] = (await db.query("select next_at from fairmill.schedule")) as [{ next_at: Date }];
    await asleepFor(5);
    await using worker = await startWorker(db.url, [handle(quick, () => {})]);
    await waitUntil("the schedule was moved on", async () => (await client.schedules.list())[0]!.nextRun! > new Date());
    await worker.stop();
    const expected = Array.from({ length: made }, (_, n) => new Date(next.getTime() - (made - n) * 3_600_000));
    expect((await ticksOf("s")).map(({ tick_at }) => tick_at)).toEqual(expected);
    expect((await client.schedules.list())[0]!.nextRun).toEqual(next);
    expect(await client.jobs.list()).toHaveLength(made);
  });
});

test("jitter delays the job, the same for everybody, and leaves the tick where it is", async () => {
  await client.schedules.set("s", { ...EVERY_SECOND, cron: hourly, jitter: "10000d" });
  await asleepFor(1);
  await using worker = await startWorker(db.url, [handle(quick, () => {})]);
  const { jobIds } = await eventOf(worker, "ticked");
  const job = await client.job(jobIds[0]!);
  const { at } = job!.tick!;
  expect(at.getUTCMinutes()).toBe(Number(hourly.split(" ")[0]));
  expect(job!.runAt!.getTime() - at.getTime()).toBe(jitterOf("s", at.getTime(), 10_000 * 86_400_000));
});

test("a tick that a limit refuses is recorded and does not stop the schedule", async () => {
  await client.kinds.set("quick", { rate: { limit: 1, per: "1h", at: "enqueue" } });
  const logger = keepingLogger();
  await using worker = await startWorker(db.url, [handle(quick, () => {})], { logger });
  const refused = eventOf(worker, "ticked", (ticked) => ticked.refused > 0);
  await client.schedules.set("s", EVERY_SECOND);
  await refused;
  await eventOf(worker, "ticked", (ticked) => ticked.refused > 0);
  expect(await client.jobs.list()).toHaveLength(1);
  expect((await client.schedules.list())[0]!.lastError).toMatchObject({ code: "FAIRMILL_RATE_LIMIT" });
  expect(logger.lines.filter(({ message }) => message === "A tick made no job")[0]).toMatchObject({
    level: "warn",
    facts: { schedule: "s", code: "FAIRMILL_RATE_LIMIT" },
  });
});

test("a schedule that cannot be reckoned or stored is trouble, and the others go on", async () => {
  await db.query(`insert into fairmill.schedule (name, cron, timezone, job, fingerprint, next_at) values
    ('a zone', '* * * * *', 'Mars/Olympus', '{"kind": "quick"}', '', now()),
    ('b cron', 'whenever', 'UTC', '{"kind": "quick"}', '', now()),
    ('c job', '* * * * * *', 'UTC', '{"kind": "quick", "priority": 100000}', '', now())`);
  await client.schedules.set("z", EVERY_SECOND);
  const logger = keepingLogger();
  const troubles: string[] = [];
  const worker = await startWorker(db.url, [handle(quick, () => {})], { logger });
  worker.events.on("trouble", ({ doing }) => troubles.push(doing));
  await seen("z", 3);
  await client.schedules.pause("z");
  await worker.stop();
  await expectEachOnce(["z"]);
  expect(logger.lines.filter(({ message }) => message === "Trouble, will try again").length).toBeLessThan(10);
  expect([...new Set(troubles)].every((doing) => /^ticking schedule "[abc] /.test(doing))).toBe(true);
  const all = await client.schedules.list();
  expect(all.map(({ lastError }) => lastError?.code)).toEqual([
    "FAIRMILL_CONFIG",
    "FAIRMILL_CONFIG",
    "22003",
    undefined,
  ]);
  // Their ticks stay due, and are tried again after a while.
  expect(
    await db.query(
      "select not_before is not null as held, next_at < now() as due from fairmill.schedule where name < 'd'",
    ),
  ).toEqual(Array.from({ length: 3 }, () => ({ held: true, due: true })));
});

test("what is sealed stays sealed from the declaration to the handler", async () => {
  const codec = createCodec({ keys: { k: randomBytes(32).toString("base64") }, current: "k" });
  const secret = defineJob<{ word: string }>({ kind: "secret" });
  await using sealing = createClient({ databaseUrl: db.url, codec });
  await using worker = await startWorker(db.url, [handle(secret, ({ input }) => ({ heard: input.word }))], { codec });
  await sealing.schedules.set("s", { cron: "* * * * * *", job: secret, input: { word: "sesame" } });
  const { jobIds } = await eventOf(worker, "ticked");
  expect(await sealing.result(jobIds[0]!)).toEqual({ heard: "sesame" });
  expect(JSON.stringify(await db.query("select payload from fairmill.job_history"))).not.toContain("sesame");
});
