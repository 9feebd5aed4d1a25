// Databases with one fault each, in a cluster of their own that is durable, because some of the faults are the server's.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "fairmill";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { type EmbeddedPostgres, startEmbedded } from "../../dist/embedded/index.js";
import { systemClock } from "../../src/base/clock.js";
import { Database } from "../../src/db/database.js";
import { type DoctorOptions, examine } from "../../src/doctor/examine.js";
import { databaseAt } from "../support/global-setup.js";

export interface Patient {
  readonly url: string;
  readonly sql: pg.Client;
  examine(options?: Partial<DoctorOptions>): Promise<{ check: string; level: string; what: string; fix: string }[]>;
}

/** The one fault and nothing besides it. */
export const only = (check: string, level: string, what: string | RegExp, fix: string) => [
  {
    check,
    level,
    what: typeof what === "string" ? what : expect.stringMatching(what),
    fix: expect.stringContaining(fix),
  },
];

export function patients() {
  let folder: string;
  let server: EmbeddedPostgres;
  let admin: pg.Client;
  let count = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "fairmill-doctor-"));
    await chmod(folder, 0o711);
    server = await startEmbedded({
      dataDir: join(folder, "postgres"),
      durable: true,
      settings: { max_prepared_transactions: "5", wal_level: "logical", autovacuum_naptime: "1h" },
    });
    admin = new pg.Client(server.url);
    await admin.connect();
    await admin.query("create database healthy encoding 'UTF8' lc_collate 'C' lc_ctype 'C' template template0");
    const client = createClient({ databaseUrl: databaseAt(server.url, "healthy") });
    await client.migrate();
    await client.close();
  });
  afterAll(async () => {
    await admin.end();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function patient(from = "template healthy"): Promise<Patient> {
    const name = `patient_${count++}`;
    await admin.query(`create database ${name} ${from}`);
    const url = databaseAt(server.url, name);
    const sql = new pg.Client(url);
    sql.on("error", () => {});
    await sql.connect();
    onTestFinished(async () => {
      await sql.end();
      await admin.query(`drop database ${name} with (force)`);
    });
    return {
      url,
      sql,
      examine: async (options = {}) => {
        const db = new Database({ databaseUrl: url }, { connectionsMax: 2, applicationName: "doctor" });
        try {
          return (await examine(db, { clock: systemClock, ...options })).map(({ check, level, what, fix }) => ({
            check,
            level,
            what,
            fix,
          }));
        } finally {
          await db.close();
        }
      },
    };
  }

  return { patient, admin: () => admin };
}
