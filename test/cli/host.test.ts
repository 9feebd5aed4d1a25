// The process that runs short commands for the tests gives what a process of its own gives.
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { cli, cliProcess } from "./cli.js";

const db = useDatabase();
const greet = defineJob({ kind: "greet" });

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
      // The age of a young job, and so the width of its column, would be another one in each process.
      await db.query("update fairmill.job set created_at = created_at - interval '3 hours'");
      // Twice: what a command leaves in its process would show.
      const env = { DATABASE_URL: db.url };
      const ended = await cliProcess(args, { env });
      expect(await cli(args, { env })).toEqual(ended);
      expect(await cli(args, { env })).toEqual(ended);
    });
});

test("each has its own variables", async () => {
  await cli(["jobs"], { env: { DATABASE_URL: db.url } });
  const without = await cli(["jobs", "--json"], { env: { FAIRMILL_SCHEMA: "No Such" } });
  expect(without).toEqual(await cliProcess(["jobs", "--json"], { env: { FAIRMILL_SCHEMA: "No Such" } }));
  expect(without.code).not.toBe(0);
});
