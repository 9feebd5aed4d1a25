// `npm run schema`: writes sql/schema.sql, the schema as the migrations leave it, from a database of its own.
// TEST_DATABASE_URL names a server to use (a superuser's address); otherwise the embedded one is started.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root } from "./ensure.mjs";
import { schemaText } from "./schema-text.mjs";

ensureInstalled();
ensureBuilt();
const { default: pg } = await import("pg");
const { createClient } = await import("../dist/index.js");
const { startEmbedded } = await import("../dist/embedded/index.js");

const folder = mkdtempSync(join(tmpdir(), "fairmill-schema-"));
// As root the server runs as another user, who must be able to enter.
chmodSync(folder, 0o711);
const given = process.env.TEST_DATABASE_URL;
const server = given ? undefined : await startEmbedded({ dataDir: join(folder, "postgres"), durable: false });
const admin = new pg.Client(given ?? server.url);
const name = `fairmill_schema_${process.pid}`;
try {
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(given ?? server.url);
  url.pathname = `/${name}`;
  const client = createClient({ databaseUrl: url.href });
  await client.migrate();
  await client.close();
  const reader = new pg.Client(url.href);
  await reader.connect();
  const text = await schemaText(reader);
  await reader.end();
  writeFileSync(join(root, "sql", "schema.sql"), text);
  console.log(`sql/schema.sql: ${text.split("\n").length} lines.`);
} finally {
  await admin.query(`drop database if exists ${name} with (force)`);
  await admin.end();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}
