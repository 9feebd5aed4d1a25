// One tenant, queue or kind by its name, although lists are read by what is behind a name.
import { type Client, createClient, defineJob } from "fairmill";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { rightBefore } from "../../src/limits/limits-client.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

test("each of many neighbours is found by its name alone, and what is none is not", async () => {
  const names = [
    "a",
    "a ",
    "a\u0001",
    "a`\u{10ffff}",
    "a`\u{10ffff}b",
    "aa",
    "b",
    "\u0001",
    "é",
    "\ue000",
    "\u{10ffff}",
    "😀",
  ];
  for (const [n, name] of names.entries()) await client.tenants.set(name, { weight: n + 2 });
  for (const [n, name] of names.entries())
    expect(await client.tenants.get(name)).toMatchObject({ tenant: name, weight: n + 2 });
  for (const name of ["A", "a`", "ab", "c", "z"]) expect(await client.tenants.get(name)).toBeUndefined();
});

test("queues and kinds, too", async () => {
  await client.enqueue(defineJob<object>({ kind: "mail", queue: "mails" }), {});
  expect(await client.queues.get("mails")).toMatchObject({ queue: "mails", ready: { count: 1, more: false } });
  expect(await client.queues.get("mail")).toBeUndefined();
  await client.kinds.set("mail", { maxRunning: 1 });
  expect(await client.kinds.get("mail")).toMatchObject({ kind: "mail", maxRunning: 1, limits: null });
  expect(await client.kinds.get("mails")).toBeUndefined();
  await expect(client.kinds.get("")).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting: "kind" });
});

test("the search begins before the name, in the order of bytes", () => {
  const name = fc.string({ unit: "binary", minLength: 1, maxLength: 20 }).filter((text) => !text.includes("\0"));
  fc.assert(
    fc.property(name, (text) => {
      const before = rightBefore(text);
      expect(before.isWellFormed()).toBe(true);
      expect(Buffer.compare(Buffer.from(before), Buffer.from(text))).toBe(-1);
      expect(before).not.toContain("\0");
    }),
  );
});
