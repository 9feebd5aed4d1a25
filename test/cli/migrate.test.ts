// What `fairmill migrate` says of a schema that is newer, broken, or busy.
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../support/database.js";
import { cli, jsonOf } from "./cli.js";

/** A migrated database of the test's own, and what was done to it. */
async function changed(change: string): Promise<{ env: Record<string, string>; admin: pg.Client }> {
  const { url, drop } = await freshDatabase();
  const admin = new pg.Client(url);
  admin.on("error", () => {});
  await admin.connect();
  onTestFinished(async () => {
    await admin.end();
    await drop();
  });
  await admin.query(change);
  return { env: { DATABASE_URL: url }, admin };
}

describe("a schema that a newer version made", () => {
  const NEWER =
    "update fairmill.schema_state set generation = 99, version = '9.1.0', shipped = 'newer', libraries_from = ";

  test.each([["migrate"], ["migrate --check"]])("%s applies nothing, and says which version may", async (line) => {
    const { env } = await changed(`${NEWER} 0`);
    const { code, stdout, stderr } = await cli(line.split(" "), { env });
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain('error: The schema "fairmill" was migrated by Fairmill 9.1.0, to generation 99.');
    expect(stderr).toContain("nothing was applied. Migrate with that version or a newer one.");
    const json = jsonOf(await cli([...line.split(" "), "--json"], { env }));
    expect(json).toMatchObject({ error: { code: "FAIRMILL_SCHEMA_NEWER" } });
  });

  test("other commands work where it lets this one, and say so where it does not", async () => {
    const { env, admin } = await changed(`${NEWER} 0`);
    expect((await cli(["jobs"], { env })).code).toBe(0);
    await admin.query(`${NEWER} 99`);
    const { code, stderr } = await cli(["jobs"], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/libraries from generation 99 on, .* is older\. Install Fairmill 9\.1\.0 or newer\.\n$/);
  });
});

test("what was changed by hand is listed by --check, and put right by migrate", async () => {
  const { env } = await changed("drop function fairmill.listening_v1(text, boolean)");
  const check = await cli(["migrate", "--check"], { env });
  expect(check.code).toBe(1);
  expect(check.stdout).toMatch(/^Missing or changed in .*:\n {2}functions\/listening_v1\nApply it with/);
  expect((await cli(["migrate"], { env })).stdout).toMatch(/^Applied to .*:\n {2}functions\/listening_v1\n$/);
  expect((await cli(["migrate", "--check"], { env })).stdout).toMatch(/^Up to date/);
});

test("an empty database is told by its migrations and the number of its functions; --json names all", async () => {
  const { env } = await changed("drop schema fairmill cascade");
  const told = /^ {2}migrations\/0001_baseline\n(?: {2}migrations\/.*\n)* {2}functions: \d{3} \(named with --json\)\n/m;
  expect((await cli(["migrate", "--check"], { env })).stdout).toMatch(told);
  const { pending } = jsonOf(await cli(["migrate", "--check", "--json"], { env })) as { pending: string[] };
  expect(pending).toContain("functions/listening_v1");
  expect((await cli(["migrate"], { env })).stdout).toMatch(told);
  expect((await cli(["migrate"], { env })).stdout).toMatch(/^Up to date/);
});

test("a table that was changed is an error that shows what it was", async () => {
  const { env } = await changed("drop index fairmill.job_unique");
  const { code, stderr } = await cli(["migrate", "--check"], { env });
  expect(code).toBe(1);
  expect(stderr).toContain("index job_unique is missing (it was: CREATE UNIQUE INDEX job_unique ON fairmill.job");
});
