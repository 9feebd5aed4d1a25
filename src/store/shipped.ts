// The SQL that this package brings along: numbered migrations and function files, and what follows from them about versions.
//
// The number at the front of a migration's name is its generation, and the highest one is the generation of schema and library. A migration
// after which older libraries do not work any more says from which generation on they do, in a line of its own:
//   -- libraries from: 19
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { VERSION } from "../model/version.js";

export interface Piece {
  /** "migrations/0001_core" or "functions/claim_v1". */
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

const sqlFolder = new URL("../../sql/", import.meta.url);

async function readPieces(folder: "migrations" | "functions"): Promise<Piece[]> {
  const files = (await readdir(new URL(`${folder}/`, sqlFolder))).filter((file) => file.endsWith(".sql")).sort();
  return Promise.all(
    files.map(async (file) =>
      pieceOf(`${folder}/${file.slice(0, -4)}`, await readFile(new URL(`${folder}/${file}`, sqlFolder), "utf8")),
    ),
  );
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
