import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { VERSION } from "../../src/base/version.js";
import { only, type patients } from "./patient.js";

export function workerFaults(patient: ReturnType<typeof patients>["patient"]): void {
  test("14 days without a partition", async () => {
    const { sql, examine } = await patient();
    const { rows } = await sql.query(
      "select 'fairmill.job_history_' || to_char(now() at time zone 'UTC', 'YYYYMMDD') as today",
    );
    await sql.query(`drop table ${rows[0].today}`);
    const found = await examine();
    expect(found).toEqual(
      only(
        "partitions",
        "warning",
        /^The history has no partition for \d{4}-\d\d-\d\d\.$/,
        "select fairmill.history_partitions_v1();",
      ),
    );
    await sql.query(found[0]!.fix);
    expect(await examine()).toEqual([]);
  });

  test("15 a queue that no worker serves, and a kind that none handles", async () => {
    const { sql, examine } = await patient();
    // One that serves another queue, with handlers for everything, is no help.
    await sql.query("select fairmill.register_v1('o', '{other}', interval '1 minute', null, 5, 'host', 1, $1)", [
      VERSION,
    ]);
    await sql.query("select fairmill.enqueue_v1('k', '{}', queue => 'lonely')");
    expect(await examine()).toEqual(
      only("unserved", "error", /queue "lonely", and no living worker serves it/, "fairmill work --queue lonely"),
    );
    await sql.query("select fairmill.register_v1('w', '{lonely}', interval '1 minute', '{other}', 5, 'host', 1, $1)", [
      VERSION,
    ]);
    expect(await examine()).toEqual(
      only("unserved", "error", /kind "k" are ready in the queue "lonely"/, 'handle(…) of "k"'),
    );
  });

  test("16 a worker of another version", async () => {
    const { sql, examine } = await patient();
    await sql.query("select fairmill.register_v1('w', '{q}', interval '1 minute', null, 5, 'host', 1, '0.0.1')");
    expect(await examine()).toEqual(
      only(
        "worker-versions",
        "warning",
        `1 living worker runs Fairmill 0.0.1; this is ${VERSION}.`,
        `Deploy Fairmill ${VERSION}`,
      ),
    );
  });

  test("17 upkeep that no worker does", async () => {
    const { sql, examine } = await patient();
    await sql.query("select fairmill.register_v1('w', '{q}', interval '-2 minutes', null, 5, 'host', 1, $1)", [
      VERSION,
    ]);
    await sql.query("select fairmill.enqueue_v1('k', '{}', run_at => now() + interval '1 hour')");
    await sql.query("update fairmill.job set run_at = now() - interval '2 minutes'");
    expect(await examine()).toEqual(
      only(
        "upkeep",
        "error",
        "1 worker is dead and not declared lost, and 1 scheduled job is overdue.",
        "fairmill.tick_upkeep_v1()",
      ),
    );
  });

  test("18 a schedule that no worker ticks", async () => {
    const { sql, examine } = await patient();
    await sql.query(`insert into fairmill.schedule (name, cron, timezone, job, fingerprint, next_at)
      values ('nightly', '0 3 * * *', 'UTC', '{"kind": "k"}', '', now() - interval '2 minutes')`);
    expect(await examine()).toEqual(
      only("schedules", "error", /^The schedule "nightly" should have ticked at /, "fairmill work"),
    );
  });

  test("19 a clock that is wrong", async () => {
    const { examine } = await patient();
    const clock = { ...systemClock, now: () => systemClock.now() - 60_000 };
    expect(await examine({ clock })).toEqual(
      only("clock", "warning", /^The clock of the database is (59\.9|60\.\d) s ahead/, "NTP"),
    );
    const ahead = { ...systemClock, now: () => systemClock.now() + 60_000 };
    expect(await examine({ clock: ahead })).toEqual(
      only("clock", "warning", /^The clock of the database is (59\.\d|60\.\d) s behind/, "NTP"),
    );
  });

  test("20 a platform that does not wait for a stop", async () => {
    const { examine } = await patient();
    expect(await examine({ stopMs: 40_000, platformGraceMs: 30_000 })).toEqual(
      only("grace", "warning", /may take 40 s .* kills after 30 s/, "terminationGracePeriodSeconds: 40"),
    );
  });
}
