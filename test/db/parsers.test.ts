// What PostgreSQL sends is read the same way whatever the application has told the driver.
import { createClient, createWorker, defineJob, handle, silentLogger } from "fairmill";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { Database } from "../../src/db/database.js";
import { PARSED } from "../../src/db/parsers.js";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";

const db = useDatabase();

describe("values", () => {
  test.each<[string, unknown]>([
    ["9007199254740993::bigint", "9007199254740993"],
    ["true", true],
    ["false", false],
    ["-7::smallint", -7],
    ["7::integer", 7],
    ["0.5::float8", 0.5],
    ["'NaN'::float8", Number.NaN],
    ["12.50::numeric", "12.50"],
    [`'{"a": [1, "ü"]}'::json`, { a: [1, "ü"] }],
    ["'null'::jsonb", null],
    ["null::jsonb", null],
    ["'a text'", "a text"],
    ["'{}'::text[]", []],
    [`array['a', null, 'NULL', '', 'x,"y"\\z{}', ' ']`, ["a", null, "NULL", "", 'x,"y"\\z{}', " "]],
    ["array[1, null, -3]", [1, null, -3]],
    ["array[9007199254740993, null]::bigint[]", ["9007199254740993", null]],
    ["array[true, false]", [true, false]],
    ["array[0.5, null]::float8[]", [0.5, null]],
    ["'2026-11-16 10:20:30.123456+02'::timestamptz", new Date("2026-11-16T08:20:30.123Z")],
    ["'2026-11-16 10:20:30.5-03:30'::timestamptz", new Date("2026-11-16T13:50:30.500Z")],
    ["'1880-01-01 00:00:00+00'::timestamptz", new Date("1880-01-01T00:00:00.000Z")],
    ["'infinity'::timestamptz", Number.POSITIVE_INFINITY],
    ["array['2026-11-16 00:00:00+00'::timestamptz]", [new Date("2026-11-16T00:00:00.000Z")]],
  ])("%s", async (expression, value) => {
    const database = new Database({ databaseUrl: db.url }, { connectionsMax: 1, applicationName: "test" });
    // Zones that were minutes and seconds apart once, too.
    for (const zone of ["UTC", "Asia/Kolkata", "Europe/Amsterdam"])
      expect(
        await database.transaction(async (tx) => {
          await tx.query(`set local timezone = '${zone}'`);
          return (await tx.query(`select ${expression} as value`)).rows;
        }),
      ).toEqual([{ value }]);
    expect(await database.query(`select ${expression} as value`)).toEqual([{ value }]);
    await database.close();
  });

  test("a time in another style is refused with what to do", () => {
    const read = PARSED.types.getTypeParser(1184);
    expect(() => read("16.11.2026 10:20:30 UTC")).toThrow(/DateStyle ISO/);
  });
});

describe("an application that has changed the parsers of the driver", () => {
  const OIDS = [16, 20, 21, 23, 114, 1016, 1007, 1009, 1184, 3802, 701];
  const before = new Map(OIDS.map((oid) => [oid, pg.types.getTypeParser(oid)]));
  afterEach(() => {
    for (const [oid, parse] of before) pg.types.setTypeParser(oid, parse);
  });

  test.each(["databaseUrl", "db"])("gets the same from a client and a worker (%s)", async (how) => {
    for (const oid of OIDS) pg.types.setTypeParser(oid, () => 17 as never);
    const pool = openPool({ connectionString: db.url, max: 8 });
    const connection = how === "db" ? { db: pool } : { databaseUrl: db.url };
    const job = defineJob<{ n: number }>({ kind: "job", key: ({ n }) => `k${n % 2}`, limits: { active: 1 } });
    await using client = createClient(connection);
    const handler = handle(job, async (ctx) => {
      if (ctx.input.n < 4) return { n: ctx.input.n };
      await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
    });
    const made = await client.enqueueMany(
      job,
      [0, 1, 2, 3].map((n) => ({ input: { n } })),
    );
    const worker = await createWorker({
      ...connection,
      handlers: [handler],
      logger: silentLogger,
      lease: "1m",
      poll: "1h",
    }).start();
    for (const [n, { id }] of made.entries()) {
      const end = await endOf(client, id);
      expect(end).toMatchObject({ id, state: "done", result: { n }, payload: { n }, attempt: 1 });
      expect(end.createdAt).toBeInstanceOf(Date);
    }
    // Ids that are compared: whose settle was taken, who is to be cancelled.
    const { id } = await client.enqueue(job, { n: 4 });
    await eventOf(worker, "running", ({ claim }) => claim.id === id);
    expect(await client.cancel(id)).toBe("requested");
    // By notification: the next heartbeat is far away.
    expect(await endOf(client, id)).toMatchObject({ state: "cancelled" });
    await worker.stop();
    await client.close();
    await pool.end();
  });
});
