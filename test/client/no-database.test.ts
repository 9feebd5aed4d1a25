// A client whose database is not there, or goes away: every call says so.
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { createClient, defineJob } from "fairmill";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshDatabase, useDatabase } from "../support/database.js";

const db = useDatabase();
const plain = defineJob<{ n: number }>({ kind: "plain" });
const items = (length: number) => Array.from({ length }, (_, n) => ({ input: { n } }));

describe("a database that is not there", () => {
  test("and one that was never migrated say what to do", async () => {
    const fresh = await freshDatabase({ empty: true });
    const client = createClient({ databaseUrl: fresh.url });
    const refusal = {
      code: "FAIRMILL_NOT_MIGRATED",
      message: expect.stringMatching(/Run "fairmill migrate" or client\.migrate/),
    };
    await expect(client.enqueue(plain, { n: 1 })).rejects.toMatchObject(refusal);
    await expect(client.enqueueMany(plain, items(3))).rejects.toMatchObject(refusal);
    await expect(client.job("1")).rejects.toMatchObject(refusal);
    await expect(client.cancel("1")).rejects.toMatchObject(refusal);
    await client.close();
    await fresh.drop();
  });

  test("is named as such, with the reason, after a few tries", async () => {
    const client = createClient({ databaseUrl: "postgres://postgres@127.0.0.1:1/nowhere" });
    await expect(client.enqueue(plain, { n: 1 })).rejects.toMatchObject({
      code: "FAIRMILL_DATABASE_UNREACHABLE",
      message: expect.stringMatching(/could not be reached \(.*ECONNREFUSED.*\)\. Check that PostgreSQL runs/),
    });
    await expect(client.job("1")).rejects.toMatchObject({ code: "FAIRMILL_DATABASE_UNREACHABLE" });
    await client.close();
  });

  test("because its name or the password is wrong: the server's reason is told, and nothing is tried again", async () => {
    const url = new URL(db.url);
    const server = url.port;
    let knocks = 0;
    const door = createServer((socket) => {
      knocks++;
      socket.pipe(connect(Number(server), url.hostname)).pipe(socket);
    });
    await once(door.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void door.close());
    url.port = String((door.address() as AddressInfo).port);
    url.pathname = "/no_such_database";
    const client = createClient({ databaseUrl: url.href });
    await expect(client.enqueue(plain, { n: 1 })).rejects.toThrow(/no_such_database/);
    expect(knocks).toBe(1);
    const refusal = { code: "FAIRMILL_DATABASE_NOT_FOUND", message: expect.stringContaining("no_such_database") };
    await expect(client.enqueueMany(plain, items(2))).rejects.toMatchObject(refusal);
    await expect(client.jobs.list()).rejects.toMatchObject(refusal);
    await expect(client.migrate()).rejects.toMatchObject(refusal);
    await expect(client.pendingMigrations()).rejects.toMatchObject(refusal);
    await client.close();
  });

  test("and none named at all is a setting that is missing", () => {
    const given = process.env["DATABASE_URL"];
    delete process.env["DATABASE_URL"];
    try {
      expect(() => createClient()).toThrow(
        expect.objectContaining({ code: "FAIRMILL_CONFIG", setting: "databaseUrl" }),
      );
    } finally {
      if (given !== undefined) process.env["DATABASE_URL"] = given;
    }
  });
});
