// Which library works with which schema: the rule, and who is told when.
import { createClient, createWorker, defineJob, handle, silentLogger } from "fairmill";
import type pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { compareVersions } from "../../src/base/version.js";
import { migrate } from "../../src/db/migrate/migrate.js";
import { misfit, type SchemaState } from "../../src/db/migrate/schema-state.js";
import { readShipped, shippedOf } from "../../src/db/migrate/shipped.js";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";
import { waitUntil } from "../support/wait.js";
import { database, open, session } from "./databases.js";
import { olderSchema } from "./older-schema.js";
import { later } from "./releases.js";

const job = defineJob({ kind: "plain" });
const worker = (url: string) =>
  createWorker({ databaseUrl: url, handlers: [handle(job, () => undefined)], logger: silentLogger });

describe("the rule", () => {
  const mine = { ...shippedOf([], [], "2.0.0"), generation: 20, digest: "mine" };
  const state = (facts: Partial<SchemaState>): SchemaState => ({
    version: "2.0.0",
    generation: 20,
    libraries_from: 10,
    shipped: "another",
    ...facts,
  });

  test.each<[string, SchemaState | undefined, string | undefined]>([
    ["the schema that the same SQL made, by whatever version", state({ shipped: "mine", version: "9.9.9" }), undefined],
    ["no schema", undefined, "FAIRMILL_NOT_MIGRATED"],
    ["an older generation", state({ generation: 19 }), "FAIRMILL_NOT_MIGRATED"],
    ["functions of an older version", state({ version: "1.9.0" }), "FAIRMILL_NOT_MIGRATED"],
    ["other functions of the same version", state({}), "FAIRMILL_NOT_MIGRATED"],
    ["functions of a newer version", state({ version: "2.0.1" }), undefined],
    ["a newer generation that lets this one work", state({ generation: 25, libraries_from: 20 }), undefined],
    ["a newer generation that does not", state({ generation: 25, libraries_from: 21 }), "FAIRMILL_LIBRARY_OUTDATED"],
  ])("%s", (_, is, code) => {
    expect(misfit(is, mine, "fairmill")?.code).toBe(code);
  });

  test("a migration says from which generation on libraries work with it; the highest counts", async () => {
    const said = await later(["-- libraries from: 7\nselect 1", "select 1", "-- libraries from: 5\nselect 1"]);
    expect(said).toMatchObject({ librariesFrom: 7, generation: (await readShipped()).generation + 3 });
  });

  test.each([
    ["1.2.3", "1.2.3", 0],
    ["1.10.0", "1.9.9", 1],
    ["1.0.0", "1.0.0-beta.1", 1],
    ["1.0.0-beta.10", "1.0.0-beta.9", 1],
    ["1.0.0-alpha", "1.0.0-beta", -1],
    ["1.0.0-beta", "1.0.0-beta.1", -1],
    ["1.0.0+built.2", "1.0.0+built.1", 0],
  ])("of the versions %s and %s", (first, second, order) => {
    expect(Math.sign(compareVersions(first, second))).toBe(order);
    expect(Math.sign(compareVersions(second, first))).toBe(order === 0 ? 0 : -order);
  });
});

describe("on an older schema", () => {
  test("a worker does not start, and says what to do in one sentence", async () => {
    const { url } = await olderSchema();
    const error = await worker(url)
      .start()
      .catch((e: unknown) => e);
    expect(error).toMatchObject({
      name: "DatabaseError",
      code: "FAIRMILL_NOT_MIGRATED",
      message: expect.stringContaining('Run "fairmill migrate" or client.migrate().'),
    });
    const ask = await session(url);
    expect(await ask.query("select from fairmill.worker")).toEqual([]);
  });

  test("a client says so before its first job, and goes on when the schema was migrated", async () => {
    const { url } = await olderSchema();
    await using client = createClient({ databaseUrl: url });
    for (const call of [
      () => client.enqueue(job, {}),
      () => client.enqueueMany(job, [{ input: {} }]),
      () => client.queues.list(),
    ])
      await expect(call()).rejects.toMatchObject({ code: "FAIRMILL_NOT_MIGRATED" });
    const ask = await session(url);
    expect(await ask.query("select from fairmill.job")).toEqual([]);
    await client.migrate();
    expect(await client.enqueue(job, {})).toMatchObject({ created: true });
  });
});

describe("on a newer schema", () => {
  const db = useDatabase();
  let before: SchemaState;
  beforeEach(async () => {
    before = (await db.query<SchemaState & pg.QueryResultRow>("select * from fairmill.schema_state"))[0]!;
  });
  afterEach(() =>
    db.query("update fairmill.schema_state set generation = $1, libraries_from = $2, shipped = $3", [
      before.generation,
      before.libraries_from,
      before.shipped,
    ]),
  );
  const isNow = (librariesFrom: number) =>
    db.query("update fairmill.schema_state set generation = 999, shipped = 'newer', libraries_from = $1", [
      librariesFrom,
    ]);

  test("that still lets it, it works on: a rolling deployment", async () => {
    await isNow(before.generation);
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await worker(db.url).start();
    const { id } = await client.enqueue(job, {});
    expect((await endOf(client, id)).state).toBe("done");
  });

  test("that does not any more, neither worker nor client begins", async () => {
    await isNow(before.generation + 1);
    const told = {
      code: "FAIRMILL_LIBRARY_OUTDATED",
      message: expect.stringContaining(`Install Fairmill ${before.version} or newer.`),
    };
    await expect(worker(db.url).start()).rejects.toMatchObject(told);
    await using client = createClient({ databaseUrl: db.url });
    await expect(client.enqueue(job, {})).rejects.toMatchObject(told);
  });

  test("inside a transaction of the caller nothing waits for another connection: it is asked beside", async () => {
    await isNow(before.generation + 1);
    const pool = openPool({ connectionString: db.url, max: 1 });
    await using client = createClient({ db: pool });
    const tx = await pool.connect();
    await tx.query("begin");
    // The pool has no other connection: a call that asked for one here would wait for ever.
    await client.in(tx).enqueue(job, {});
    await tx.query("rollback");
    tx.release();
    await waitUntil("it is known", async () => {
      const again = await pool.connect();
      await again.query("begin");
      const error = await client
        .in(again)
        .enqueue(job, {})
        .then(
          () => undefined,
          (e: { code: string }) => e.code,
        );
      await again.query("rollback");
      again.release();
      return error === "FAIRMILL_LIBRARY_OUTDATED";
    });
    await client.close();
    await pool.end();
  });

  test("a running worker that a migration left behind is told once, in the words of the rule", async () => {
    const { url } = await database({});
    const running = await worker(url).start();
    const told: unknown[] = [];
    running.events.on("trouble", ({ doing, error }) => doing === "checking the schema" && told.push(error));
    const first = eventOf(running, "trouble", ({ doing }) => doing === "checking the schema");
    const { generation } = await readShipped();
    const shipped = await later([`-- libraries from: ${generation + 1}\nselect 1`], {
      version: "99.0.0",
      functions: { tick_upkeep_v1: undefined, claim_lanes_v1: undefined },
    });
    await migrate(open(url), { shipped });
    expect((await first).error).toMatchObject({ code: "FAIRMILL_LIBRARY_OUTDATED" });
    // Whatever else fails for the same reason.
    await eventOf(running, "trouble");
    await eventOf(running, "trouble");
    expect(told).toHaveLength(1);
    await running.stop();
  });
});

describe("the question", () => {
  const db = useDatabase();

  test("is asked once: after the first call none pays for it", async () => {
    const statements: string[] = [];
    const pool = openPool({ connectionString: db.url, max: 1 });
    pool.on("connect", (client) => {
      const { query } = client;
      client.query = ((...args: unknown[]) => {
        statements.push(String((args[0] as { text?: string }).text ?? args[0]));
        return (query as (...all: unknown[]) => unknown).apply(client, args);
      }) as typeof client.query;
    });
    const client = createClient({ db: pool });
    for (let n = 0; n < 3; n++) await client.enqueue(job, {});
    await client.queues.list();
    expect(statements.filter((text) => text.includes("schema_state"))).toHaveLength(1);
    await client.close();
    await pool.end();
  });

  test("is not held against a role that may not read the answer", async () => {
    const role = `reader_${Math.floor(performance.now() * 1000)}`;
    await db.query(`create role ${role} login password 'secret'`);
    try {
      await db.query(`grant usage on schema fairmill to ${role}`);
      await db.query(`grant all on all tables in schema fairmill to ${role}`);
      await db.query(`grant all on all sequences in schema fairmill to ${role}`);
      await db.query(`grant execute on all functions in schema fairmill to ${role}`);
      await db.query(`revoke all on fairmill.schema_state from ${role}`);
      const url = new URL(db.url);
      url.username = role;
      url.password = "secret";
      await using client = createClient({ databaseUrl: url.href });
      expect(await client.enqueue(job, {})).toMatchObject({ created: true });
    } finally {
      await db.query(`drop owned by ${role}`);
      await db.query(`drop role ${role}`);
    }
  });
});
