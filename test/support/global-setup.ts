// One PostgreSQL for the whole run, with a migrated template database that every test file clones.
// TEST_DATABASE_URL names another server to use (a superuser's address); otherwise the embedded one is started.
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "fairmill";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startEmbedded } from "../../dist/embedded/index.js";
import { installEmptying } from "./empty-tables.js";
import { installInvariants } from "./invariants.js";
import { memoryFolder } from "./memory-folder.js";

declare module "vitest" {
  interface ProvidedContext {
    serverUrl: string;
  }
}

export const TEMPLATE = "fairmill_template";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The processes of the run inherit it: whatever they keep in a temporary folder is in memory, too.
  const inMemory = process.env["TMPDIR"] ? undefined : memoryFolder();
  if (inMemory) process.env["TMPDIR"] = inMemory;
  const folder = await mkdtemp(join(tmpdir(), "fairmill-test-"));
  // As root the server runs as another user, who must be able to enter.
  await chmod(folder, 0o711);
  const given = process.env["TEST_DATABASE_URL"];
  const server = given
    ? undefined
    : await startEmbedded({
        dataDir: join(folder, "postgres"),
        durable: false,
        settings: { max_connections: "600", max_wal_size: "1GB", max_prepared_transactions: "10" },
      });
  const serverUrl = given ?? server!.url;

  const admin = new pg.Client(serverUrl);
  await admin.connect();
  if (server) await cheapenPassword(admin, serverUrl, server.dataDir);
  await admin.query(`drop database if exists ${TEMPLATE} with (force)`);
  await admin.query(`create database ${TEMPLATE} encoding 'UTF8' lc_collate 'C' lc_ctype 'C' template template0`);
  await admin.end();
  const client = createClient({ databaseUrl: databaseAt(serverUrl, TEMPLATE) });
  await client.migrate();
  await client.close();
  const template = new pg.Client(databaseAt(serverUrl, TEMPLATE));
  await template.connect();
  await installInvariants(template);
  await installEmptying(template);
  await template.end();

  project.provide("serverUrl", serverUrl);
  return async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

/**
 * The password is random: to hash it thousands of times at each of the run's many thousand connections protects nothing, and neither does a handshake that
 * keeps it from this machine. Clients say it as it is; those who must hash it are tested with servers of their own (test/embedded).
 */
async function cheapenPassword(admin: pg.Client, serverUrl: string, clusterFolder: string): Promise<void> {
  const { username, password } = new URL(serverUrl);
  // Before PostgreSQL 16 the number is fixed.
  await admin.query(
    "select set_config('scram_iterations', '1', false) from pg_settings where name = 'scram_iterations'",
  );
  await admin.query(
    `alter role ${pg.escapeIdentifier(decodeURIComponent(username))} password ${pg.escapeLiteral(decodeURIComponent(password))}`,
  );
  const rules = join(clusterFolder, "pg_hba.conf");
  await writeFile(rules, (await readFile(rules, "utf8")).replaceAll("scram-sha-256", "password"));
  await admin.query("select pg_reload_conf()");
}

export function databaseAt(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
