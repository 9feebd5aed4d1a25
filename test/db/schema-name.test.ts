import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { Database } from "../../src/db/database.js";
import { migrate, printMigrations } from "../../src/db/migrate/migrate.js";
import { checkSchemaName } from "../../src/db/schema-name.js";
import { claimNo } from "../support/lease-no.js";
import { waitUntil } from "../support/wait.js";
import { database, open, session } from "./databases.js";

describe("the schema's name", () => {
  /** The whole way of a job, in a schema of any name. */
  async function workThrough(db: Database, worker: string): Promise<string> {
    const [stored] = await db.query<{ id: string }>(
      "select id from fairmill.enqueue_v1('work', '{\"n\": 1}', tenant => 'acme', idempotency_key => 'once')",
    );
    await db.query("select fairmill.register_v1($1, '{default}')", [worker]);
    const [claimed] = await db.query<{ id: string; lease_no: string; payload: unknown }>(
      "select * from fairmill.claim_v1($1)",
      [worker],
    );
    expect(claimed).toMatchObject({ id: stored!.id, lease_no: claimNo(1), payload: { n: 1 } });
    const [settled] = await db.query("select * from fairmill.settle_v1($1, $2, $3, '{done}', '[{\"result\": 7}]')", [
      worker,
      [claimed!.id],
      [claimed!.lease_no],
    ]);
    expect(settled).toEqual({ accepted: 1, refused: [], admitted: null });
    const [upkeep] = await db.query<{ recovered: number }>("select * from fairmill.tick_upkeep_v1()");
    expect(upkeep!.recovered).toBe(0);
    expect(await db.query("select state, result from fairmill.job_history where id = $1", [stored!.id])).toEqual([
      { state: "done", result: 7 },
    ]);
    return stored!.id;
  }

  test("another name works from enqueue to settle", async () => {
    const { url } = await database();
    const db = open(url, "other_mill");
    await migrate(db);
    await workThrough(db, "w1");
    expect(await (await session(url)).query("select from pg_namespace where nspname = 'fairmill'")).toEqual([]);
  });

  test("kinds of Fairmill's own have the same names in every schema, and stay reserved", async () => {
    const { url } = await database();
    const db = open(url, "other_mill");
    await migrate(db);
    await db.query("select fairmill.publish_v1('telegram', '{}', idempotency_key => 'once')");
    // The kind is put together here: as one word in a statement it would be changed with it.
    const kind = ["fairmill", "deliver", "telegram"].join(".");
    expect(await db.query("select kind from fairmill.job")).toEqual([{ kind }]);
    await expect(db.query("select fairmill.enqueue_v1($1)", [kind])).rejects.toThrow("reserved");
    await expect(
      db.query("select fairmill.enqueue_payloads_v1('[{}]', jsonb_build_object('kind', $1::text))", [kind]),
    ).rejects.toThrow();
    await db.query("select fairmill.enqueue_v1('other_mill.work')");
  });

  test("two schemas side by side in one database do not disturb each other", async () => {
    const { url } = await database();
    const [a, b] = [open(url), open(url, "other_mill")];
    // At once: they share no lock.
    await Promise.all([migrate(a), migrate(b)]);
    const ids = [await workThrough(a, "w1"), await workThrough(b, "w1")];
    expect(ids).toEqual(["1", "1"]);

    // What waits in one is not seen, recovered, promoted or notified in the other.
    const listener = new pg.Client(url);
    await listener.connect();
    onTestFinished(() => listener.end());
    const heard: string[] = [];
    listener.on("notification", ({ channel, payload }) => void heard.push(`${channel} ${payload}`));
    await listener.query("listen fairmill; listen other_mill");
    await b.query("select fairmill.register_v1('w2', '{default}', '1 hour')");
    await b.query("select fairmill.listening_v1('w2', true)");
    await b.query("select fairmill.enqueue_v1('work')");
    await waitUntil("the notification", () => listener.query("select 1").then(() => heard.length > 0));
    expect(heard).toEqual(["other_mill default"]);

    await b.query("select fairmill.claim_v1('w2')");
    await b.query("update fairmill.worker set lease_until = now() - interval '1 second'");
    expect(await a.query("select * from fairmill.recover_v1()")).toEqual([{ recovered: 0, ended: 0 }]);
    expect(await a.query("select id from fairmill.job")).toEqual([]);
    expect(await b.query("select * from fairmill.recover_v1()")).toEqual([{ recovered: 1, ended: 0 }]);
    expect(await a.query("select * from fairmill.queue")).toEqual([]);

    // Upkeep of the one does not wait for upkeep of the other.
    const busy = await session(url);
    await busy.query("begin");
    await busy.query("select fairmill.tick_upkeep_v1()");
    const [own] = await b.query("select pg_try_advisory_xact_lock(hashtext('fairmill.upkeep')) as free");
    expect(own).toEqual({ free: true });
    await busy.query("rollback");
  });

  test.each([
    "",
    "public",
    "pg_catalog",
    "pg_mill",
    "Mill",
    "my-mill",
    "my mill",
    "1mill",
    "mühle",
    'mill"; drop table x; --',
    "fairmill.job",
    "mill\n",
    "a".repeat(41),
    "information_schema",
    "user",
    "select",
    "order",
  ])("%j is refused with a ConfigError, before any database is asked", async (schema) => {
    for (const work of [
      () => checkSchemaName(schema),
      () => new Database({ databaseUrl: "postgres://nowhere", schema }, { connectionsMax: 1, applicationName: "test" }),
      () => printMigrations(schema),
    ]) {
      const error = await (async () => work())().catch((e: unknown) => e);
      expect(error).toBeInstanceOf(ConfigError);
      expect(error).toMatchObject({ code: "FAIRMILL_CONFIG", setting: "schema" });
    }
  });

  test("every word that PostgreSQL reserves is refused", async () => {
    const { url } = await database();
    const words = await (await session(url)).query<{ word: string }>(
      "select word from pg_get_keywords() where catcode in ('R', 'T', 'C') order by 1",
    );
    expect(words.length).toBeGreaterThan(150);
    const taken = words.map(({ word }) => word).filter((word) => !refuses(word));
    expect(taken).toEqual([]);
  });

  const refuses = (schema: string): boolean => {
    try {
      checkSchemaName(schema);
      return false;
    } catch {
      return true;
    }
  };

  test.each(["a", "_", "mill_2", "a".repeat(40), "job", "queue", "label"])(
    "%j is a name that works",
    async (schema) => {
      const { url } = await database();
      const db = open(url, schema);
      await migrate(db);
      await workThrough(db, "w1");
    },
  );
});
