import { createClient, createWorker, defineJob, handle } from "fairmill";
import { afterEach, expect, test } from "vitest";
import { checkDatabaseUrl } from "../../src/db/database-url.js";

const handlers = [handle(defineJob({ kind: "work" }), () => {})];
const variables = ["DATABASE_URL", "DATABASE_DIRECT_URL", "FAIRMILL_WORKER_CONCURRENCY"];
const before = variables.map((name) => [name, process.env[name]] as const);
afterEach(() => {
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
});

test.each([
  "postgres://u:p@127.0.0.1:5432/d",
  "postgresql:///d?host=/var/run/postgresql",
  "postgres://u:p%40@%2Fvar%2Frun/d",
  "postgres://u:p@h.example/d?sslmode=require",
  "socket:/var/run/postgresql?db=d",
  "/var/run/postgresql d",
])("%s may be the address of a PostgreSQL", (url) => {
  expect(checkDatabaseUrl(url, "databaseUrl")).toBe(url);
});

test.each(["nonsense", "localhost:5432/d", "mysql://root:s3cret@h/d", "http://h", "postgres://h:99999/d", "", 5])(
  "%s is refused, and not repeated",
  (url) => {
    expect(() => checkDatabaseUrl(url, "databaseUrl")).toThrow(/^databaseUrl: this is not a PostgreSQL URL\. Write/);
    expect(() => checkDatabaseUrl(url, "databaseUrl")).not.toThrow(/s3cret/);
  },
);

test("a client and a worker refuse it at once, and name where it came from", () => {
  const good = "postgres://u@127.0.0.1:1/d";
  expect(() => createClient({ databaseUrl: "mysql://h/d" })).toThrow(/^databaseUrl: this is not/);
  process.env["DATABASE_URL"] = "nonsense";
  expect(() => createClient()).toThrow(/^DATABASE_URL: this is not/);
  process.env["DATABASE_DIRECT_URL"] = "nonsense";
  expect(() => createWorker({ databaseUrl: good, handlers })).toThrow(/^DATABASE_DIRECT_URL: this is not/);
  expect(() => createWorker({ databaseUrl: good, directUrl: "x", handlers })).toThrow(/^directUrl: this is not/);
});

test("a number of jobs in the environment that is none is named by its variable", () => {
  process.env["FAIRMILL_WORKER_CONCURRENCY"] = "many";
  expect(() => createWorker({ databaseUrl: "postgres://u@127.0.0.1:1/d", handlers })).toThrow(
    'FAIRMILL_WORKER_CONCURRENCY: "many" is not a whole number from 1 to 10000.',
  );
});
