// What `client.in(tx)` says when the transaction, its database or the schema is not as it should be.
import { type Client, ConfigError } from "fairmill";
import { expect, test } from "vitest";
import { freshDatabase, type TestDatabase } from "../support/database.js";
import { type Connected, failed, plain } from "./adapted.js";

interface Adapted {
  readonly db: TestDatabase;
  readonly client: () => Client;
  readonly connected: () => Connected;
  readonly connect: (url: string) => Connected;
}

export function describeFailures({ db, client, connected, connect }: Adapted): void {
  test("explains a schema that is missing", async () => {
    const empty = await freshDatabase({ empty: true });
    const elsewhere = connect(empty.url);
    try {
      const error = await failed(elsewhere.transaction(({ tx }) => client().in(tx).enqueue(plain, { n: 1 })));
      expect(error).toMatchObject({ name: "DatabaseError", code: "FAIRMILL_NOT_MIGRATED" });
      expect((error as Error).message).toContain('schema "fairmill" does not exist');
      // A payload does not belong in a log.
      expect((error as Error).message).not.toContain("payload");
    } finally {
      await elsewhere.close();
      await empty.drop();
    }
  });

  test("explains a schema that is older", async () => {
    const error = await failed(
      connected().transaction(async ({ tx, run }) => {
        await run("alter table fairmill.job rename to not_yet");
        await client().in(tx).enqueue(plain, { n: 1 });
      }),
    );
    expect(error).toMatchObject({ name: "DatabaseError", code: "FAIRMILL_NOT_MIGRATED" });
    expect((error as Error).message).toContain('relation "fairmill.job" does not exist');
  });

  test("explains a right that is missing", async () => {
    const error = await failed(
      connected().transaction(async ({ tx, run }) => {
        await run("set local role pg_monitor");
        await client().in(tx).enqueue(plain, { n: 1 });
      }),
    );
    expect(error).toMatchObject({ name: "DatabaseError", code: "FAIRMILL_PERMISSION_DENIED" });
    expect((error as Error).message).toContain("permission denied for schema fairmill");
  });

  test("explains a server that shuts down", async () => {
    await db.query(`create function public.shut_down() returns trigger language plpgsql as
      $$ begin raise exception 'terminating connection' using errcode = '57P01'; end $$`);
    await db.query("create trigger shut_down before insert on fairmill.job execute function public.shut_down()");
    try {
      const error = await failed(connected().transaction(({ tx }) => client().in(tx).enqueue(plain, { n: 1 })));
      expect(error).toMatchObject({ name: "DatabaseError", code: "FAIRMILL_DATABASE_UNREACHABLE" });
    } finally {
      await db.query("drop function public.shut_down() cascade");
    }
  });

  test("says that the transaction is broken, with the library's error as the cause", async () => {
    let own: unknown;
    let ours: unknown;
    await failed(
      connected().transaction(async ({ tx, run }) => {
        own = await failed(run("select 1/0"));
        ours = await failed(client().in(tx).enqueue(plain, { n: 1 }));
        throw ours;
      }),
    );
    expect(ours).toMatchObject({ code: "FAIRMILL_TRANSACTION_ABORTED", sqlState: "25P02" });
    expect((ours as { cause: Error }).cause.constructor).toBe((own as Error).constructor);
    expect(await db.query("select from fairmill.job")).toEqual([]);
  });

  test("refuses what is no transaction", () => {
    expect(() => connected().adaptPool()).toThrow(ConfigError);
    expect(() => connected().adaptPool()).toThrow(/tx must be .+ transaction/);
  });
}
