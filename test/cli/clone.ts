// A clone of the repository whose `npm start` has a PostgreSQL of its own: the repository's may be in use.
import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { removeEmbedded } from "../../src/embedded/index.js";
import { type LiveProcess, repo, scratchFolder, start } from "./cli.js";

export async function clone(): Promise<string> {
  const folder = await scratchFolder();
  for (const name of [
    "package.json",
    "package-lock.json",
    "tsconfig.build.json",
    "node_modules",
    "src",
    "dist",
    "examples",
    "dashboard",
  ])
    await symlink(join(repo, name), join(folder, name));
  await cp(join(repo, "scripts"), join(folder, "scripts"), { recursive: true });
  onTestFinished(() => removeEmbedded(join(folder, ".fairmill/postgres")));
  return folder;
}

export const npmStart = (folder: string, args: readonly string[], env: Record<string, string> = {}): LiveProcess =>
  start(join(folder, "scripts/start.mjs"), args, { cwd: folder, env: { ...env, ...sameBinaries() } });

function sameBinaries(): Record<string, string> {
  const named = process.env["FAIRMILL_POSTGRES_BIN"];
  return named === undefined ? {} : { FAIRMILL_POSTGRES_BIN: named };
}
