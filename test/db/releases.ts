// Releases that were never made: the package as it is, with invented migrations and functions of a later one, or without its latest.
import { type Piece, pieceOf, readShipped, type Shipped, shippedOf } from "../../src/db/migrate/shipped.js";

export interface Changes {
  readonly version?: string;
  /** Functions by name: a text, or undefined for one that is not brought any more. */
  readonly functions?: Readonly<Record<string, string | undefined>>;
}

/** A later release: `migrations` follow those of the package. */
export async function later(
  migrations: readonly string[],
  { version, functions = {} }: Changes = {},
): Promise<Shipped> {
  const now = await readShipped();
  const added = migrations.map((text, i) =>
    pieceOf(`migrations/${String(now.generation + 1 + i).padStart(4, "0")}_invented`, text),
  );
  const kept = now.functions.filter(({ name }) => !(name.slice("functions/".length) in functions));
  const changed = Object.entries(functions).flatMap(([name, text]): Piece[] =>
    text === undefined ? [] : [pieceOf(`functions/${name}`, text)],
  );
  return shippedOf([...now.migrations, ...added], [...kept, ...changed], version ?? now.version);
}
