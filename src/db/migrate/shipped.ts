// The SQL that this package brings along: numbered migrations and function files, and what follows from them about versions.
//
// The number at the front of a migration's name is its generation, and the highest one is the generation of schema and library. A migration
// after which older libraries do not work any more says from which generation on they do, in a line of its own:
//   -- libraries from: 19
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { VERSION } from "../../base/version.js";

export interface Piece {
  /** "migrations/0001_baseline" or "functions/claim_v1". */
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

export interface Shipped {
  /** Of the package. */
  readonly version: string;
  readonly migrations: readonly Piece[];
  readonly functions: readonly Piece[];
  readonly generation: number;
  /** Libraries of an older generation do not work with the schema that these migrations make. */
  readonly librariesFrom: number;
  /** Of all texts: equal where two packages bring the same SQL, whatever their versions. */
  readonly digest: string;
}

export const MIGRATIONS = "migrations/";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export const pieceOf = (name: string, text: string): Piece => ({ name, text, checksum: sha256(text) });

/** 19 of "migrations/0019_what". */
export const generationOf = (name: string): number => Number(/^migrations\/(\d+)/.exec(name)?.[1] ?? 0);

export const shippedOf = (
  migrations: readonly Piece[],
  functions: readonly Piece[],
  version: string = VERSION,
): Shipped => ({
  version,
  migrations,
  functions,
  generation: Math.max(0, ...migrations.map(({ name }) => generationOf(name))),
  librariesFrom: Math.max(
    0,
    ...migrations.map(({ text }) => Number(/^-- libraries from: (\d+)$/m.exec(text)?.[1] ?? 0)),
  ),
  digest: sha256([...migrations, ...functions].map(({ name, checksum }) => `${name} ${checksum}\n`).join("")),
});

const sqlFolder = new URL("../../../sql/", import.meta.url);

/** `api` has the public functions and `inner` the others, by shelf. The ledger knows them by their names alone: a shelf is for readers. */
const FOLDERS = { migrations: ["migrations"], functions: ["api", "inner"] } as const;

async function readPieces(what: keyof typeof FOLDERS): Promise<Piece[]> {
  const files: URL[] = [];
  for (const folder of FOLDERS[what]) {
    const root = new URL(`${folder}/`, sqlFolder);
    for (const file of await readdir(root, { recursive: true }))
      if (file.endsWith(".sql")) files.push(new URL(file.replaceAll("\\", "/"), root));
  }
  const nameOf = ({ pathname }: URL) => `${what}/${pathname.slice(pathname.lastIndexOf("/") + 1, -".sql".length)}`;
  const pieces = await Promise.all(files.map(async (file) => pieceOf(nameOf(file), await readFile(file, "utf8"))));
  return pieces.sort((a, b) => (a.name < b.name ? -1 : 1));
}

let reading: Promise<Shipped> | undefined;

/** Read once: the files of an installed package do not change. */
export function readShipped(): Promise<Shipped> {
  reading ??= Promise.all([readPieces("migrations"), readPieces("functions")]).then(([migrations, functions]) =>
    shippedOf(migrations, functions),
  );
  // A disk that failed once may work the next time.
  reading.catch(() => {
    reading = undefined;
  });
  return reading;
}

const CREATED = /^create (?:or replace )?(?:function|procedure) fairmill\.(\w+)/gim;

/** The functions that texts create, by name. */
export const functionsIn = (pieces: readonly Piece[]): Set<string> =>
  new Set(pieces.flatMap(({ text }) => [...text.matchAll(CREATED)].map(([, name]) => name!)));
