// Makes a fresh clone ready: dependencies as the lockfile says, and a current build. Needs nothing but Node and npm.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, "node_modules", ".fairmill-lock");

/** Runs a command in the project's folder, showing what it prints; ends this process when the command fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (result.error) {
    console.error(`Could not run ${command}: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** The path of a tool that a dependency brings. */
export const tool = (name) => join(root, "node_modules", ".bin", process.platform === "win32" ? `${name}.cmd` : name);

export function ensureNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(
    `Fairmill needs Node 20.19 or newer; this is ${process.versions.node}. Install a newer Node and try again.`,
  );
  process.exit(1);
}

/** Installs the dependencies when they are missing or when the lockfile changed since they were installed. */
export function ensureInstalled() {
  ensureNode();
  const wanted = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === wanted) return;
  console.log("Installing dependencies (first run, or the lockfile changed) …");
  // Not `npm ci`: it refuses a lockfile that lacks the binaries of platforms other than the one it was written on.
  run(process.platform === "win32" ? "npm.cmd" : "npm", [
    "install",
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ]);
  writeFileSync(stampFile, wanted);
}

const newest = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((latest, entry) => Math.max(latest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs), 0);

/** Compiles `src/` into `dist/` when a source file is newer than the last build. */
export function ensureBuilt() {
  const stamp = join(root, "dist", ".built");
  const source = Math.max(newest(join(root, "src")), statSync(join(root, "tsconfig.build.json")).mtimeMs);
  if (existsSync(stamp) && statSync(stamp).mtimeMs > source) return;
  run(tool("tsc"), ["-p", "tsconfig.build.json"]);
  mkdirSync(join(root, "dist"), { recursive: true });
  writeFileSync(stamp, "");
}
