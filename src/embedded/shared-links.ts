// The links between shared libraries (libicuuc.so.60 → libicuuc.so.60.2 …) that an npm package cannot carry. Its postinstall makes
// them from `pg-symlinks.json`; where install scripts are off, we do.

import { lstat, readFile, symlink } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { systemCode } from "./errors.js";

interface SharedLink {
  /** Both relative to the package's folder. */
  readonly source: string;
  readonly target: string;
}

export async function readLinks(packageFolder: string): Promise<SharedLink[]> {
  try {
    const links = JSON.parse(await readFile(join(packageFolder, "native", "pg-symlinks.json"), "utf8")) as SharedLink[];
    return links.filter((link) => isInside(link.source) && isInside(link.target));
  } catch (error) {
    // Packages for some platforms need no links and have no such file.
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** Makes the links that are missing; false when the folder cannot be written. */
export async function makeMissingLinks(packageFolder: string): Promise<boolean> {
  for (const { source, target } of await readLinks(packageFolder)) {
    const link = join(packageFolder, target);
    if (await isThere(link)) continue;
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (error) {
      // Another process was faster.
      if (systemCode(error) !== "EEXIST") return false;
    }
  }
  return true;
}

function isInside(path: string): boolean {
  return normalize(path).startsWith("native/");
}

async function isThere(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}
