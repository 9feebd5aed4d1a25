// Upgrading a schema that is full of jobs: whatever state they are in, the new version goes on with them.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { migrate } from "../../src/db/migrate/migrate.js";
import { checkInvariants } from "../support/invariants.js";
import { openPool } from "../support/open-pool.js";
import { claim, endLease, enqueueOne, recover, register, settle, statesOf } from "../support/sql/calls.js";
import { database as newDatabase, open, session } from "./databases.js";
import { NOVELTIES, olderSchema } from "./older-schema.js";
import { later } from "./releases.js";

const folder = new URL("../../sql/migrations/", import.meta.url);

const checksumOf = (text: string) => createHash("sha256").update(text).digest("hex");

/** The first characters of what each migration hashed to when it went out. A new migration gets a new line; no line ever changes. */
const WENT_OUT: Record<string, string> = {
  "0001_baseline": "af69d9eb0b96c692",
};

test("no migration has changed since it went out: who has applied it could not upgrade any more", async () => {
  const files = (await readdir(folder)).toSorted();
  const checksums = await Promise.all(
    files.map(async (file) => [
      file.slice(0, -4),
      checksumOf(await readFile(new URL(file, folder), "utf8")).slice(0, 16),
    ]),
  );
  expect(Object.fromEntries(checksums)).toEqual(WENT_OUT);
});

test("a function that takes more than it did replaces the one that took less", async () => {
  const { url } = await olderSchema();
  const ask = await session(url);
  const signature = () =>
    ask.query<{ takes: number }>("select pronargs as takes from pg_proc where proname = 'claim_lanes_v1'");
  expect(await signature()).toEqual([{ takes: 8 }]);
  expect(await migrate(open(url))).toContain("functions/claim_lanes_v1");
  expect(await signature()).toEqual([{ takes: 10 }]);
  const { length } = await ask.query(
    "select proname from pg_proc where pronamespace = 'fairmill'::regnamespace group by 1 having count(*) > 1",
  );
  expect(length).toBe(0);
});

test.each(Object.entries(NOVELTIES))("jobs in every state go on after %s", async (_, novelty) => {
  const { url } = await newDatabase({});
  const database = open(url);
  const pool = openPool({ connectionString: url, max: 1 });
  // The database is dropped while the connection is still saying goodbye.
  onTestFinished(() => pool.end());
  const db = {
    query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await pool.query<Row>(text, values)).rows,
  };
  await db.query(
    "insert into fairmill.worker (id, queues, lease_until) values ('old', '{default}', now() + interval '1 hour')",
  );
  await db.query(
    "insert into fairmill.key_limit (kind, per, max_running, when_full) values ('keyed', 'key', 1, 'wait')",
  );
  await db.query(
    "insert into fairmill.limit_setting (scope, name, max_running, set_max_running) values ('tenant', 't', 2, 2)",
  );
  await db.query(
    "insert into fairmill.limit_setting (scope, name, max_running, defined_max_running) values ('kind', 'wide', 1, 1)",
  );
  const put = async (state: string, fields: Record<string, unknown> = {}): Promise<string> => {
    const waits = state === "scheduled" || state === "blocked";
    const row = {
      kind: "plain",
      queue: "default",
      tenant: "t",
      payload: {},
      progress: { n: 1 },
      state,
      ...(waits && { aside: state }),
      ...fields,
    };
    const names = Object.keys(row);
    const [made] = await db.query<{ id: string }>(
      `insert into fairmill.job (${names.join(", ")}) values (${names.map((_, i) => `$${i + 1}`).join(", ")}) returning id`,
      Object.values(row),
    );
    return made!.id;
  };
  const running = { worker: "old", started_at: new Date(), lease_no: 1, attempt: 1 };
  const held = await put("running", running);
  const keyed = { kind: "keyed", tenant: "u", key: "k", limit_key: '["keyed", "u", "k"]' };
  const wide = { kind: "wide", tenant: "v" };
  const [holder, widest] = [
    await put("running", { ...running, ...keyed, slot: 1 }),
    await put("running", { ...running, ...wide }),
  ];
  await db.query("insert into fairmill.claim_list (worker, list_no, ids) values ('old', 1, $1)", [
    [held, holder, widest],
  ]);
  await db.query(
    "insert into fairmill.meter (use, scope, name, running_ids) values ('start', 'tenant', 't', $1), ('start', 'kind', 'wide', $2)",
    [[held], [widest]],
  );
  const blocked = await put("blocked", keyed);
  const wideNext = await put("ready", wide);
  const scheduled = await put("scheduled", { run_at: new Date(Date.now() + 3_600_000) });
  const ready = [await put("ready", { priority: 5 }), await put("ready", { priority: 5 })];

  const shipped = await later([novelty]);
  expect(await migrate(database, { shipped })).toEqual([shipped.migrations.at(-1)!.name]);
  await checkInvariants(pool);

  // The old worker goes on with what it has, and the slot it gives up goes to the job that waits for it.
  expect(await settle(db, "old", [{ id: holder, lease_no: "1" }], "done")).toMatchObject({ accepted: 1 });
  expect(await statesOf(db, [blocked])).toEqual(["ready"]);
  // A new one finds the lanes, and the caps with what runs under them.
  await register(db, "new");
  const claimed = (await claim(db, "new", 10)).map(({ id }) => id);
  expect(claimed).toEqual(expect.arrayContaining([ready[0], blocked]));
  expect(claimed).not.toContain(wideNext);
  expect(await settle(db, "old", [{ id: widest, lease_no: "1" }], "done")).toMatchObject({ accepted: 1 });
  expect((await claim(db, "new", 10)).map(({ id }) => id)).toEqual([wideNext]);
  expect(await statesOf(db, [ready[1]!, scheduled])).toEqual(["ready", "scheduled"]);
  await endLease(db, "old");
  await recover(db);
  expect(await statesOf(db, [held])).toEqual(["ready"]);
  await enqueueOne(db, { tenant: "t" });
  await checkInvariants(pool);
});
