// Which versions of library and schema fit each other. The rule:
//
//  1. A library works on the schema that its own SQL makes, and on any newer one whose migrations do not say that they need a newer library.
//  2. A library does not work on an older schema: migrate first.
//  3. Only the newest migrates: a library applies nothing to a schema that is newer than itself.
//
// Newer is the higher generation, and within a generation the higher version of the package.
import { DatabaseError } from "../../base/errors.js";
import { compareVersions } from "../../base/version.js";
import type { Database } from "../database.js";
import { isUnmigrated } from "../failures.js";
import type { Objects } from "./catalog.js";
import { readShipped, type Shipped } from "./shipped.js";

/** What the last migration left behind, in the one row of fairmill.schema_state. */
export interface SchemaState {
  /** Of the package that migrated last. */
  readonly version: string;
  readonly generation: number;
  readonly libraries_from: number;
  /** The digest of that package's SQL. */
  readonly shipped: string;
}

export interface StoredObjects {
  /** Null: whatever is there is right, and is taken down by the next migration. */
  readonly objects: Objects | null;
  readonly server_major: number;
}

const READ_STATE = "select version, generation, libraries_from, shipped from fairmill.schema_state";

/** Equal SQL is never newer, whatever the versions say. */
export const isNewer = (state: SchemaState, shipped: Shipped): boolean =>
  state.shipped !== shipped.digest &&
  (state.generation - shipped.generation || compareVersions(state.version, shipped.version)) > 0;

const thisLibrary = ({ version, generation }: Shipped) =>
  `this library, Fairmill ${version} of generation ${generation}`;

/** Undefined: they fit. */
export function misfit(state: SchemaState | undefined, shipped: Shipped, schema: string): DatabaseError | undefined {
  if (state?.shipped === shipped.digest) return undefined;
  if (state === undefined || !isNewer(state, shipped)) {
    const found = state
      ? `of generation ${state.generation}, migrated by Fairmill ${state.version}`
      : "missing or older";
    return new DatabaseError(
      "FAIRMILL_NOT_MIGRATED",
      `The schema "${schema}" is ${found}, and ${thisLibrary(shipped)}, needs its own. Run "fairmill migrate" or client.migrate().`,
    );
  }
  if (shipped.generation >= state.libraries_from) return undefined;
  return new DatabaseError(
    "FAIRMILL_LIBRARY_OUTDATED",
    `The schema "${schema}" works with libraries from generation ${state.libraries_from} on, and ${thisLibrary(shipped)}, is older. Install Fairmill ${state.version} or newer.`,
  );
}

/** Throws where the schema does not fit this library. A role that may not read the state is not stopped: others report it. */
export async function checkFit(db: Database, shipped?: Shipped): Promise<void> {
  const [state, mine] = await Promise.all([readState(db), shipped ?? readShipped()]);
  if (state === "hidden") return;
  const error = misfit(state, mine, db.schema);
  if (error) throw error;
}

async function readState(db: Database): Promise<SchemaState | undefined | "hidden"> {
  try {
    return (await db.query<SchemaState>(READ_STATE))[0];
  } catch (error) {
    if (isUnmigrated(error)) return undefined;
    if ((error as { code?: unknown }).code === "42501") return "hidden";
    throw error;
  }
}
