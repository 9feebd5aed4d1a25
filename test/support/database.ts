// Databases for tests: a clone of the migrated template per test file, emptied between tests, checked after each of them.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, inject } from "vitest";
import { databaseAt, TEMPLATE } from "./global-setup.js";
import { checkInvariants } from "./invariants.js";
import { endLeftovers } from "./leftovers.js";

export interface TestDatabase {
  readonly url: string;
  /** A pool for the test's own questions. */
  readonly pool: pg.Pool;
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** A database of the test's own, cloned from the template (or empty). */
export async function freshDatabase(
  options: { empty?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const serverUrl = inject("serverUrl");
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
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

const TABLES = [
  "job_log",
  "metric_sample",
  "fleet_sample",
  "worker_tick_metrics",
  "alert_event",
  "alert",
  "alert_silence",
  "alert_rule",
  "outbox",
  "schedule",
  "schedule_tick",
  "step",
  "job",
  "job_history",
  "worker",
  "claim_list",
  "queue",
  "idempotency",
  "unique_period",
  "limit_setting",
  "key_limit",
  "key_limit_report",
  "meter",
  "credit_pending",
  "credit_entry",
  "account",
  "batch_hold",
  "batch_edge",
  "batch",
  "pool",
  "audit_event",
  "bulk_action",
];

const EMPTY = TABLES.map((table) => `delete from fairmill.${table}`).join(";");

/** One database for the test file. After each test: the invariants hold, and nobody is still connected. */
export function useDatabase(): TestDatabase {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let pool: pg.Pool;
  beforeAll(async () => {
    fresh = await freshDatabase();
    pool = new pg.Pool({ connectionString: fresh.url, max: 4, application_name: "test" });
    pool.on("error", () => {});
  });
  beforeEach(async () => {
    await pool.query(EMPTY);
  });
  afterEach(async () => {
    await endLeftovers();
    await checkInvariants(pool);
    await checkNobodyConnected(pool);
  });
  afterAll(async () => {
    await pool.end();
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

/** A worker or client that was closed leaves no connection behind; the server needs a moment to notice. */
async function checkNobodyConnected(pool: pg.Pool): Promise<void> {
  const question = `select application_name, state, query from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name like 'fairmill%'`;
  const deadline = performance.now() + 5_000;
  for (;;) {
    const { rows } = await pool.query(question);
    if (rows.length === 0) return;
    if (performance.now() < deadline) continue;
    // Ended here, so that the next test does not inherit the fault.
    await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'fairmill%'`,
    );
    throw new Error(
      `Connections were left open: ${rows.map((row) => `${row.application_name} (${row.state}): ${row.query.slice(0, 80)}`).join("; ")}`,
    );
  }
}
