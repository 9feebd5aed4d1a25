// Brings the schema up to date. Migrations are numbered, forward only, applied once and guarded by a checksum; functions are created
// anew when their text changed. Everything happens in one transaction under one lock, so two processes may migrate at once.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { DatabaseError } from "../model/errors.js";
import type { Database, Queryable } from "./database.js";
import { checkSchemaName, qualify } from "./schema-name.js";

interface Piece {
  /** "migrations/0001_core" or "functions/claim_v1". */
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

const sqlFolder = new URL("../../sql/", import.meta.url);

async function readPieces(folder: "migrations" | "functions"): Promise<Piece[]> {
  const files = (await readdir(new URL(`${folder}/`, sqlFolder))).filter((file) => file.endsWith(".sql")).sort();
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(new URL(`${folder}/${file}`, sqlFolder), "utf8");
      return {
        name: `${folder}/${file.slice(0, -4)}`,
        text,
        checksum: createHash("sha256").update(text).digest("hex"),
      };
    }),
  );
}

/** Migration 0013 went out in two texts. This is the other one; what it did besides, 0016 does for both. */
const OTHER_0013 = "9b1fd3c613d499a03a8a15f9ca5cc7df1f26daef7057526f2f79a74e4406b9a1";

/** Bodies are not checked while they are created: functions call each other, whatever order the files have. */
const LEDGER = `set local check_function_bodies = off;
create schema if not exists fairmill;
revoke all on schema fairmill from public;
create table if not exists fairmill.migration (
  name text primary key, checksum text not null, applied_at timestamptz not null default now());`;

/** Nobody but the owner may do anything: not even call a function. Rights are granted on purpose, never by default. */
const CLOSE = `revoke all on all tables in schema fairmill from public;
revoke all on all sequences in schema fairmill from public;
revoke all on all functions in schema fairmill from public;`;

/** What must still be applied; empty when the schema is up to date. Changes nothing. */
export async function pendingMigrations(db: Database): Promise<string[]> {
  return (await pendingPieces(db, await appliedPieces(db))).map((piece) => piece.name);
}

async function appliedPieces(db: Pick<Database, "query">): Promise<Map<string, string>> {
  const [row] = await db.query<{ found: boolean }>("select to_regclass('fairmill.migration') is not null as found");
  if (!row?.found) return new Map();
  const rows = await db.query<{ name: string; checksum: string }>("select name, checksum from fairmill.migration");
  return new Map(rows.map((applied) => [applied.name, applied.checksum]));
}

async function pendingPieces(db: Pick<Database, "schema">, applied: Map<string, string>): Promise<Piece[]> {
  const migrations = await readPieces("migrations");
  for (const { name, checksum } of migrations) {
    const known = applied.get(name) ?? checksum;
    if (known !== checksum && known !== OTHER_0013)
      throw new DatabaseError(
        "FAIRMILL_MIGRATION_CHANGED",
        `Migration ${name} was applied to schema "${db.schema}" with other contents. Applied migrations are never edited: install the version of Fairmill that made this schema, or restore the file.`,
      );
  }
  return [
    ...migrations.filter(({ name }) => !applied.has(name)),
    ...(await readPieces("functions")).filter((f) => applied.get(f.name) !== f.checksum),
  ];
}

/** Applies what is missing and returns its names. Safe to run twice, and by two processes at once. */
export async function migrate(db: Database): Promise<string[]> {
  if ((await pendingPieces(db, await appliedPieces(db))).length === 0) return [];
  const work = async (tx: Queryable) => {
    await tx.query(`select pg_advisory_xact_lock(hashtext('fairmill.migrate'))`);
    await tx.query(LEDGER);
    // Asked again under the lock: another process may have been here in the meantime.
    const ask = { query: async <Row>(text: string) => (await tx.query(text)).rows as Row[] };
    const pieces = await pendingPieces(db, await appliedPieces(ask as Pick<Database, "query">));
    for (const piece of pieces) await apply(tx, piece);
    await tx.query(CLOSE);
    if (pieces.length > 0) await tx.query("select fairmill.history_partitions_v1()");
    return pieces.map((piece) => piece.name);
  };
  // An index of a large table takes its time, and so does another process that migrates.
  return db.transaction(work, { isPatient: true });
}

async function apply(tx: Queryable, piece: Piece): Promise<void> {
  await tx.query(piece.text);
  await tx.query(
    "insert into fairmill.migration (name, checksum) values ($1, $2) on conflict (name) do update set checksum = $2, applied_at = now()",
    [piece.name, piece.checksum],
  );
}

/** The whole schema as one SQL script, for those who review or apply it by hand. */
export async function printMigrations(schema: string): Promise<string> {
  // The name becomes part of a script that somebody runs: it must be a name and nothing else.
  checkSchemaName(schema);
  const pieces = [...(await readPieces("migrations")), ...(await readPieces("functions"))];
  const parts = pieces.map(
    (piece) =>
      `-- ${piece.name}\n${piece.text}\ninsert into fairmill.migration (name, checksum) values ('${piece.name}', '${piece.checksum}')\non conflict (name) do update set checksum = excluded.checksum, applied_at = now();\n`,
  );
  return qualify(
    ["begin;", LEDGER, ...parts, CLOSE, "select fairmill.history_partitions_v1();", "commit;\n"].join("\n"),
    schema,
  );
}
