// Leaves exactly the functions that the package brings: all of them created, none in a second signature, none of a former version.
// Functions that are not ours by name, and what depends on ours, are never touched: a migration that would have to is refused.
import { DatabaseError } from "../../base/errors.js";
import type { Queryable } from "../database.js";
import type { Objects } from "./catalog.js";
import { functionSettings } from "./function-settings.js";
import { functionsIn, type Piece, type Shipped } from "./shipped.js";

interface Found {
  readonly oid: string;
  readonly name: string;
  /** As a snapshot of the catalog calls it. */
  readonly object: string;
  /** As DROP takes it. */
  readonly identity: string;
  /** The transaction that wrote its row: another one as soon as it is created again. */
  readonly written: string;
}

const FUNCTIONS = `select p.oid::text as oid, p.proname::text as name, 'function ' || p.proname || '(' || oidvectortypes(p.proargtypes) || ')' as object,
  p.oid::regprocedure::text as identity, p.xmin::text as written
from pg_proc p where p.pronamespace = to_regnamespace('fairmill') order by 2, 3`;

export const readFunctions = async (tx: Queryable): Promise<Found[]> => (await tx.query(FUNCTIONS)).rows as Found[];

/** Those of `now` that were created, or created again, since `before`. */
function createdSince(before: readonly Found[], now: readonly Found[]): Set<Found> {
  const written = new Map(before.map((each) => [each.oid, each.written]));
  return new Set(now.filter((each) => written.get(each.oid) !== each.written));
}

export interface Known {
  /** What functions there were before the first migration of this transaction. */
  readonly atFirst: readonly Found[];
  /** Names that a function of ours has or had. */
  readonly ours: ReadonlySet<string>;
  /** What the last migration left, where that is known. */
  readonly expected: Objects | undefined;
}

/** Returns what it dropped, as a snapshot calls it. */
export async function replaceFunctions(tx: Queryable, shipped: Shipped, known: Known): Promise<string[]> {
  const before = await readFunctions(tx);
  await createAll(tx, shipped.functions);
  const now = await readFunctions(tx);
  const [fresh, freshAtAll] = [createdSince(before, now), createdSince(known.atFirst, now)];
  const inFiles = functionsIn(shipped.functions);
  const inMigrations = functionsIn(shipped.migrations);
  const isLeftover = (each: Found) => {
    if (!inFiles.has(each.name) && inMigrations.has(each.name))
      return known.expected !== undefined && !(each.object in known.expected) && !freshAtAll.has(each);
    return known.ours.has(each.name) && !fresh.has(each);
  };
  const leftovers = now.filter(isLeftover);
  await drop(tx, leftovers);
  await tx.query(functionSettings(inFiles));
  return leftovers.map(({ object }) => object);
}

/** Another result, other parameter names, a default less, another kind of routine: PostgreSQL refuses to replace. */
const IRREPLACEABLE = new Set(["42P13", "42809"]);

const isIrreplaceable = (error: unknown) => IRREPLACEABLE.has(String((error as { code?: unknown })?.code));

/** All in one round trip; one by one only where one of them cannot be replaced and has to go first. */
async function createAll(tx: Queryable, functions: readonly Piece[]): Promise<void> {
  const created = await attempt(tx, functions.map(({ text }) => text).join("\n"));
  if (created) return;
  for (const piece of functions) {
    if (await attempt(tx, piece.text)) continue;
    const names = functionsIn([piece]);
    await drop(
      tx,
      (await readFunctions(tx)).filter(({ name }) => names.has(name)),
    );
    await tx.query(piece.text);
  }
}

async function attempt(tx: Queryable, text: string): Promise<boolean> {
  await tx.query("savepoint functions");
  try {
    await tx.query(text);
  } catch (error) {
    if (!isIrreplaceable(error)) throw error;
    await tx.query("rollback to savepoint functions");
    return false;
  }
  await tx.query("release savepoint functions");
  return true;
}

/** Together, because they may depend on each other; never with what others made to depend on them. */
async function drop(tx: Queryable, functions: readonly Found[]): Promise<void> {
  if (functions.length === 0) return;
  const identities = functions.map(({ identity }) => identity).join(", ");
  try {
    await tx.query(`drop routine ${identities}`);
  } catch (error) {
    const { code, detail = "" } = error as { code?: string; detail?: string };
    if (code !== "2BP01") throw error;
    throw new DatabaseError(
      "FAIRMILL_FUNCTION_IN_USE",
      `A function of another version must go and cannot, because something that is not Fairmill's depends on it: ${detail.replaceAll("\n", "; ")}. Nothing was applied. Drop or change what depends on it, and migrate again.`,
      { cause: error },
    );
  }
}
