// What a migration would do: what the package brings, against what the ledger says was applied and what the catalog says is there.
import { DatabaseError } from "../../base/errors.js";
import type { Queryable } from "../database.js";
import {
  type Difference,
  differences,
  functionName,
  isFunction,
  type Objects,
  readObjects,
  serverMajor,
} from "./catalog.js";
import { isNewer, type SchemaState, type StoredObjects } from "./schema-state.js";
import { functionsIn, generationOf, MIGRATIONS, type Piece, type Shipped } from "./shipped.js";

export interface Plan {
  /** In order. */
  readonly migrations: readonly Piece[];
  /** Those that are missing, or not as they were created. */
  readonly functions: readonly Piece[];
  /** What else is not as it should be, in words. */
  readonly besides: readonly string[];
  /** Names that a function of ours has or had. */
  readonly ours: ReadonlySet<string>;
  readonly now: Objects;
  /** What the last migration left; undefined: nobody knows. */
  readonly expected: Objects | undefined;
}

type Stored = SchemaState & StoredObjects;

/** In the ledger's place while the ledger has none: the row that says what the last migration left. */
const STATE = "schema_state";
/** The trigger that keeps older packages out. It is made again by every migration. */
const GUARD = "trigger migration.migration_guard";

export const namesOf = ({ migrations, functions, besides }: Plan): string[] => [
  ...[...migrations, ...functions].map(({ name }) => name),
  ...besides,
];

/** Throws where this package must not migrate: the schema is newer, or is not what a migration left. */
export async function look(tx: Queryable, shipped: Shipped, schema: string): Promise<Plan> {
  const now = await readObjects(tx);
  const { applied, stored } = await readLedger(tx);
  refuseNewer(applied, stored, shipped, schema);
  refuseEdited(applied, shipped, schema);
  const expected = stored?.objects ?? undefined;
  const changed = expected ? await changedSince(tx, expected, now, stored!.server_major) : [];
  const inFiles = functionsIn(shipped.functions);
  const inMigrations = functionsIn(shipped.migrations);
  const isMended = ({ object }: Difference) =>
    object === GUARD ||
    (isFunction(object) && (inFiles.has(functionName(object)) || !inMigrations.has(functionName(object))));
  refuseDrifted(
    changed.filter((each) => !isMended(each)),
    schema,
  );

  const spoiled = new Set(changed.filter(({ object }) => isFunction(object)).map(({ object }) => functionName(object)));
  const isMissing = (piece: Piece) =>
    applied.get(piece.name) !== piece.checksum || [...functionsIn([piece])].some((name) => spoiled.has(name));
  const ours = new Set([...inFiles, ...formerFunctions(applied)]);
  const isLeftover = (object: string) => {
    const name = functionName(object);
    if (!inFiles.has(name) && !inMigrations.has(name)) return ours.has(name);
    return expected !== undefined && !(object in expected);
  };
  return {
    migrations: shipped.migrations.filter(({ name }) => !applied.has(name)),
    functions: shipped.functions.filter(isMissing),
    besides: [
      ...Object.keys(now)
        .filter(isFunction)
        .filter(isLeftover)
        .map((object) => `drop ${object}`),
      ...changed.filter(({ object }) => object === GUARD).map(({ object }) => object),
      ...(expected === undefined && applied.size > 0 ? [STATE] : []),
    ],
    ours,
    now,
    expected,
  };
}

const LEDGERS =
  "select to_regclass('fairmill.migration') is not null as ledger, to_regclass('fairmill.schema_state') is not null as state";

async function readLedger(tx: Queryable): Promise<{ applied: Map<string, string>; stored: Stored | undefined }> {
  const has = (await tx.query(LEDGERS)).rows[0] as { ledger: boolean; state: boolean };
  const rows = has.ledger ? (await tx.query("select name, checksum from fairmill.migration")).rows : [];
  const states = has.state ? (await tx.query("select * from fairmill.schema_state")).rows : [];
  return {
    applied: new Map((rows as { name: string; checksum: string }[]).map(({ name, checksum }) => [name, checksum])),
    stored: states[0] as Stored | undefined,
  };
}

/** "claim_v1" of "functions/claim_v1": a file is named after its function. */
const formerFunctions = (applied: Map<string, string>): string[] =>
  [...applied.keys()]
    .filter((name) => !name.startsWith(MIGRATIONS))
    .map((name) => name.slice(name.lastIndexOf("/") + 1));

function refuseNewer(applied: Map<string, string>, stored: Stored | undefined, shipped: Shipped, schema: string): void {
  const known = new Set(shipped.migrations.map(({ name }) => name));
  const unknown = [...applied.keys()].filter((name) => name.startsWith(MIGRATIONS) && !known.has(name)).toSorted();
  if (unknown.length === 0 && !(stored && isNewer(stored, shipped))) return;
  const generation = Math.max(stored?.generation ?? 0, ...unknown.map(generationOf));
  const by = stored ? `Fairmill ${stored.version}` : "another version of Fairmill";
  const which = unknown.length > 0 ? `; ${unknown[0]} is unknown to this one` : "";
  throw new DatabaseError(
    "FAIRMILL_SCHEMA_NEWER",
    `The schema "${schema}" was migrated by ${by}, to generation ${generation}${which}. This is Fairmill ${shipped.version}, generation ${shipped.generation}: an older version applies nothing to a newer schema, and nothing was applied. Migrate with that version or a newer one.`,
  );
}

function refuseEdited(applied: Map<string, string>, shipped: Shipped, schema: string): void {
  for (const { name, checksum } of shipped.migrations) {
    if ((applied.get(name) ?? checksum) !== checksum)
      throw new DatabaseError(
        "FAIRMILL_MIGRATION_CHANGED",
        `Migration ${name} was applied to schema "${schema}" with other contents. Applied migrations are never edited: install the version of Fairmill that made this schema, or restore the file.`,
      );
  }
}

/** After an upgrade of PostgreSQL definitions may be spelled otherwise: then only what is missing counts. */
async function changedSince(tx: Queryable, expected: Objects, now: Objects, major: number): Promise<Difference[]> {
  const all = differences(expected, now);
  if (all.length === 0 || (await serverMajor(tx)) === major) return all;
  return all.filter(({ object, now: is }) => isFunction(object) || is === undefined);
}

const DRIFTS_TOLD = 5;

/** Long definitions are spelled over several lines. */
const oneLine = (text: string) => text.replaceAll(/\s+/g, " ");

function refuseDrifted(drifts: readonly Difference[], schema: string): void {
  if (drifts.length === 0) return;
  const told = drifts
    .slice(0, DRIFTS_TOLD)
    .map(({ object, was, now }) =>
      now === undefined
        ? `${object} is missing (it was: ${oneLine(was)})`
        : `${object} is: ${oneLine(now)} (it was: ${oneLine(was)})`,
    );
  const more = drifts.length > DRIFTS_TOLD ? `; and ${drifts.length - DRIFTS_TOLD} more` : "";
  throw new DatabaseError(
    "FAIRMILL_SCHEMA_DRIFTED",
    `The schema "${schema}" is not as the last migration left it: ${told.join("; ")}${more}. Nothing was applied. Put it back as it was, or say that it is right as it is: update ${schema}.schema_state set objects = null.`,
  );
}
