// A project as a user would have it, with this package among its modules: the TypeScript samples of every document, compiled.
// Sources lie in a folder per document, so that the samples of one document can import each other.
import { spawn } from "node:child_process";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scratchFolder } from "../cli/cli.js";
import { type Block, type Document, documentAt, documents, repo } from "./documents.js";

/** What the samples import besides this package. */
const MODULES = ["zod", "pg", "postgres", "drizzle-orm", "kysely", "@prisma", "@types"];

/** What a tool of theirs would have generated beside the samples of a document. */
const GENERATED = { "docs/guides/enqueue-in-a-transaction.md": "test/adapters/prisma/generated" };

export interface Sample {
  readonly document: Document;
  readonly block: Block;
  /** From the project's folder. */
  readonly file: string;
}

export interface SampleProject {
  readonly folder: string;
  /** What the compiler said, and how it ended. */
  readonly compiler: { readonly code: number | null; readonly output: string };
}

/** The folder of a document's samples, from the project's folder. */
export const folderOf = ({ path }: Document): string => path.replace(/\.md$/, "").replaceAll("/", "-").toLowerCase();

/** A first line `// name.ts` names the file. */
export function fileOf(document: Document, block: Block): string {
  const name = /^\/\/ ([\w.-]+\.ts)$/.exec(block.text.split("\n")[0]!)?.[1];
  return join(folderOf(document), name ?? `line-${block.place.split(":")[1]}.ts`);
}

export const samples: readonly Sample[] = documents.flatMap((document) =>
  document.blocks
    .filter((block) => block.language === "ts")
    .map((block) => ({ document, block, file: fileOf(document, block) })),
);

/** The compiled sample, from the project's folder. */
export const compiledFile = (file: string): string => join("out", file.replace(/\.ts$/, ".js"));

export async function makeProject(): Promise<SampleProject> {
  const folder = await scratchFolder({
    "package.json": JSON.stringify({ type: "module" }),
    "tsconfig.json": JSON.stringify({
      extends: join(repo, "tsconfig.json"),
      compilerOptions: { noEmit: false, rootDir: ".", outDir: "out" },
      include: ["*/*.ts"],
    }),
  });
  await mkdir(join(folder, "node_modules"));
  await symlink(repo, join(folder, "node_modules", "fairmill"));
  for (const name of MODULES) await symlink(join(repo, "node_modules", name), join(folder, "node_modules", name));
  for (const document of documents) await mkdir(join(folder, folderOf(document)), { recursive: true });
  for (const [path, generated] of Object.entries(GENERATED))
    await cp(join(repo, generated), join(folder, folderOf(documentAt(path)), "generated"), { recursive: true });
  for (const { block, file } of samples) await writeFile(join(folder, file), `${block.text}\n`);
  return { folder, compiler: placed(await compile(folder)) };
}

/** Compiles the project of this folder. */
export function compile(folder: string): Promise<SampleProject["compiler"]> {
  return new Promise((resolve, reject) => {
    const tsc = spawn(join(repo, "node_modules", ".bin", "tsc"), ["-p", folder, "--pretty", "false"], { cwd: folder });
    let output = "";
    const gather = (chunk: Buffer) => {
      output += chunk;
    };
    tsc.stdout.on("data", gather);
    tsc.stderr.on("data", gather);
    tsc.on("error", reject);
    tsc.on("close", (code) => resolve({ code, output }));
  });
}

/** The compiler names files of the project; people want the place in the document. */
function placed({ code, output }: SampleProject["compiler"]): SampleProject["compiler"] {
  const inDocuments = output.replaceAll(/^([\w./-]+\.ts)\((\d+),/gm, (whole, file: string, line: string) => {
    const sample = samples.find((one) => one.file === file);
    const begin = Number(sample?.block.place.split(":")[1]);
    return sample ? `${sample.document.path}:${begin + Number(line)} (${file}, ` : whole;
  });
  return { code, output: inDocuments };
}
