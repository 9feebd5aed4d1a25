// Builds the dashboard into dist/dashboard when a file of it is newer than the last build, and holds it to its size.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { newest, root, run, tool } from "./ensure.mjs";

/** All files together, gzipped, without source maps. */
export const GZIPPED_BYTES_MAX = 120_000;

const source = join(root, "dashboard");
const target = join(root, "dist", "dashboard");

export function ensureDashboard() {
  const stamp = join(root, "dist", ".built-dashboard");
  const changed = Math.max(newest(source), statSync(join(root, "package-lock.json")).mtimeMs);
  if (existsSync(stamp) && existsSync(join(target, "index.html")) && statSync(stamp).mtimeMs > changed) return;
  console.error("Building the dashboard …");
  run(tool("vite"), ["build", "--config", join(source, "vite.config.ts"), "--logLevel", "warn"]);
  const { total, files } = dashboardSize();
  if (total > GZIPPED_BYTES_MAX) {
    console.error(`The dashboard is ${total} bytes gzipped, and may be ${GZIPPED_BYTES_MAX}:`);
    for (const { name, bytes } of files) console.error(`  ${bytes}  ${name}`);
    process.exit(1);
  }
  mkdirSync(join(root, "dist"), { recursive: true });
  writeFileSync(stamp, "");
}

export function dashboardSize(folder = target) {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".map"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .map((path) => ({ name: relative(folder, path), bytes: gzipSync(readFileSync(path), { level: 9 }).length }))
    .sort((a, b) => b.bytes - a.bytes);
  return { files, total: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}
