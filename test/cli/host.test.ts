// The process that runs short commands for the tests gives what a process of its own gives.
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { cli, cliProcess, type Ended } from "./cli.js";

const db = useDatabase();
const greet = defineJob({ kind: "greet" });

/** How long ago a job was made is another time. */
const withoutAges = (ended: Ended): Ended => ({ ...ended, stdout: ended.stdout.replaceAll(/\d+m?s ago/g, "just now") });

describe("a command in the shared process ends as in one of its own", () => {
  for (const args of [
    ["--version"],
    ["--help"],
    ["tenants", "set", "--help"],
    ["jobz"],
    ["job"],
    ["jobs", "--state", "gone", "--json"],
    ["jobs"],
    ["jobs", "--json"],
    ["job", "999999999"],
    ["job", "999999999", "--json"],
    ["queues", "get", "nothing", "--json"],
  ])
    test(args.join(" "), async () => {
      const client = createClient({ databaseUrl: db.url });
      await client.enqueue(greet, {}, { tenant: "acme" });
      await client.close();
      // Twice: what a command leaves in its process would show.
      const env = { DATABASE_URL: db.url };
      const ended = withoutAges(await cliProcess(args, { env }));
      expect(withoutAges(await cli(args, { env }))).toEqual(ended);
      expect(withoutAges(await cli(args, { env }))).toEqual(ended);
    });
});

test("each has its own variables", async () => {
  await cli(["jobs"], { env: { DATABASE_URL: db.url } });
  const without = await cli(["jobs", "--json"], { env: { FAIRMILL_SCHEMA: "No Such" } });
  expect(without).toEqual(await cliProcess(["jobs", "--json"], { env: { FAIRMILL_SCHEMA: "No Such" } }));
  expect(without.code).not.toBe(0);
});
