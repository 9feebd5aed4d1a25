// Databases for tests: a clone of the migrated template per test file, emptied between tests, checked after each of them:
// two round trips a test.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, inject } from "vitest";
import { databaseAt, TEMPLATE } from "./global-setup.js";
import { endLeftovers } from "./leftovers.js";
import { openPool } from "./open-pool.js";
import { checkQuiet, endTransactions } from "./quiet.js";

export interface TestDatabase {
  readonly url: string;
  /** A pool for the test's own questions. */
  readonly pool: pg.Pool;
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** How the names of this process' databases begin. */
const OWN = `test_${process.pid}_`;

/** A database of the test's own, cloned from the template (or empty). */
export async function freshDatabase(
  options: { empty?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const serverUrl = inject("serverUrl");
  const name = `${OWN}${randomBytes(4).toString("hex")}`;
  await asAdmin(serverUrl, async (admin) => {
    await admin.query(`create database ${name} template ${options.empty ? "template0" : TEMPLATE}`);
  });
  return {
    url: databaseAt(serverUrl, name),
    drop: () =>
      asAdmin(serverUrl, async (admin) => void (await admin.query(`drop database if exists ${name} with (force)`))),
  };
}

async function asAdmin(serverUrl: string, work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

/** One database for the test file. After each test: the invariants hold, and no session is still connected. */
export function useDatabase(): TestDatabase {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let pool: pg.Pool;
  beforeAll(async () => {
    fresh = await freshDatabase();
    pool = openPool({ connectionString: fresh.url, max: 4, application_name: "test" });
  });
  beforeEach(async () => {
    await pool.query("select public.empty_tables()");
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") await asAdmin(inject("serverUrl"), (admin) => endTransactions(admin, OWN));
    await endLeftovers();
    await checkQuiet(pool);
  });
  afterAll(async () => {
    const isComplete = pool.idleCount === pool.totalCount;
    const ended = pool.end();
    // For a connection that a failed test has not given back the pool would wait for ever.
    if (isComplete) await ended;
    await fresh.drop();
  });
  return {
    get url() {
      return fresh.url;
    },
    get pool() {
      return pool;
    },
    query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await pool.query<Row>(text, values)).rows,
  };
}
