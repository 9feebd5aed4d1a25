// C5, C6: what the last five minutes say of each worker, and the level of each figure.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

interface Health {
  worker_id: string;
  level: string;
  tick_duration_level: string;
  lock_contention_level: string;
  jobs_per_tick_level: string | null;
  queue_depth_level: string | null;
}

const write = (worker: string, facts: object, ago = "0", mode = "tick") =>
  db.query(
    `insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms, lock_contention_count, jobs_claimed, queue_depth_at_start)
     select $1, $3, now() - $4::interval, 0, coalesce(f.ms, 0), coalesce(f.contentions, 0), coalesce(f.claimed, 0), f.depth
     from jsonb_to_record($2) as f (ms integer, contentions integer, claimed integer, depth integer)`,
    [worker, JSON.stringify(facts), mode, ago],
  );

const health = (thresholds?: object) =>
  db.query<Health>("select * from fairmill.health_v1($1)", [
    thresholds === undefined ? null : JSON.stringify(thresholds),
  ]);

test.each([
  [{ ms: 29_999 }, "tick_duration_level", "good"],
  [{ ms: 30_000 }, "tick_duration_level", "warning"],
  [{ ms: 50_000 }, "tick_duration_level", "warning"],
  [{ ms: 50_001 }, "tick_duration_level", "critical"],
  [{ contentions: 0 }, "lock_contention_level", "good"],
  [{ contentions: 1 }, "lock_contention_level", "warning"],
  [{ contentions: 5 }, "lock_contention_level", "warning"],
  [{ contentions: 6 }, "lock_contention_level", "critical"],
  [{ claimed: 49 }, "jobs_per_tick_level", "good"],
  [{ claimed: 50 }, "jobs_per_tick_level", "warning"],
  [{ claimed: 101 }, "jobs_per_tick_level", "critical"],
  [{ depth: 99 }, "queue_depth_level", "good"],
  [{ depth: 100 }, "queue_depth_level", "warning"],
  [{ depth: 501 }, "queue_depth_level", "critical"],
] as const)("C6: %j: %s is %s, and so is the worker", async (facts, column, level) => {
  await write("w1", facts);
  expect(await health()).toMatchObject([{ worker_id: "w1", level, [column]: level }]);
});

test("C6: other thresholds, and only those of figures that there are", async () => {
  await write("w1", { ms: 1_500, depth: 3 });
  expect(await health({ tick_duration_ms: [1_000, 2_000] })).toMatchObject([{ level: "warning" }]);
  expect(await health({ queue_depth: [1, 2] })).toMatchObject([{ level: "critical" }]);
  for (const wrong of [{ speed: [1, 2] }, { queue_depth: [2, 1] }, { queue_depth: 5 }, { queue_depth: [1, "2"] }])
    await expect(health(wrong)).rejects.toMatchObject({ code: "FM001" });
});

test("C6: a busy interval of a long-running worker is no tick with too many jobs", async () => {
  await write("w1", { claimed: 10_000 }, "0", "interval");
  expect(await health()).toMatchObject([{ level: "good", jobs_per_tick_level: null }]);
});

test("C5: the last five minutes of each worker, and no more", async () => {
  await write("w1", { ms: 10, claimed: 5, contentions: 1, depth: 7 }, "4 minutes");
  await write("w1", { ms: 20, claimed: 6, contentions: 2, depth: 9 }, "1 minute");
  await write("w1", { ms: 900_000, claimed: 900 }, "6 minutes");
  await write("gone", { claimed: 1 }, "6 minutes");
  expect(await db.query("select * from fairmill.worker_health_summary")).toMatchObject([
    {
      ...{ worker_id: "w1", tick_count: "2", avg_tick_duration_ms: "15.0", total_jobs_claimed: "11" },
      ...{ total_jobs_succeeded: "0", total_lock_contentions: "3", queue_depth: 9 },
    },
  ]);
});

test("upkeep removes rows that are older than two days, or than the history where that is shorter", async () => {
  await write("old", {}, "49 hours");
  await write("older", {}, "3 hours");
  await write("new", {});
  const left = async () =>
    (await db.query("select worker_id from fairmill.worker_tick_metrics order by 1")).map((row) => row["worker_id"]);
  await db.query("select fairmill.tick_upkeep_v1()");
  expect(await left()).toEqual(["new", "older"]);
  await db.query("select fairmill.tick_upkeep_v1(history_keep => '2 hours')");
  expect(await left()).toEqual(["new"]);
});
