// Puts a copy of the npm package's binaries where the server's user may read them, once for each version. The copy is made under
// another name and renamed, so two processes that do it at once, or one that is killed, leave a whole copy or none.

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, copyFile, link, mkdir, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { systemCode } from "./errors.js";
import { readLinks } from "./shared-links.js";
import { isOurFolder, isSafeBase } from "./staging-folder.js";

/** The `bin` folder of the staged copy in this base; `undefined` when the base cannot be used. */
export async function stageBinaries(
  npmPackage: { folder: string; id: string },
  base: string,
): Promise<string | undefined> {
  if (!(await isSafeBase(base))) return undefined;
  const files = await filesOf(join(npmPackage.folder, "native"));
  const staged = join(base, `fairmill-binaries-${npmPackage.id}-${process.geteuid?.()}`);
  const whole =
    (await isWholeCopy(staged, npmPackage.folder, files)) || (await makeCopy(staged, npmPackage.folder, files));
  return whole ? join(staged, "native", "bin") : undefined;
}

/** Cleaners of temporary folders take single old files away: a copy counts only when every file is there in full. */
async function isWholeCopy(staged: string, original: string, files: readonly string[]): Promise<boolean> {
  if (!(await isOurFolder(staged))) return false;
  try {
    const sameSize = await Promise.all(
      files.map(async (file) => {
        const [copy, source] = await Promise.all(
          [join(staged, "native", file), join(original, "native", file)].map((path) => stat(path)),
        );
        return copy?.size === source?.size;
      }),
    );
    for (const { target } of await readLinks(original)) await stat(join(staged, target));
    return !sameSize.includes(false);
  } catch {
    return false;
  }
}

async function makeCopy(staged: string, original: string, files: readonly string[]): Promise<boolean> {
  const unfinished = `${staged}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(unfinished, { mode: 0o700 });
    await chmod(unfinished, 0o755);
    const folders = new Set([unfinished]);
    for (const file of files)
      await copyReadable(join(original, "native", file), join(unfinished, "native", file), folders);
    for (const { source, target } of await readLinks(original)) {
      await symlink(relative(dirname(target), source), join(unfinished, target));
    }
    return await putInPlace(unfinished, staged, original, files);
  } catch {
    return false;
  } finally {
    await rm(unfinished, { recursive: true, force: true }).catch(() => {});
  }
}

async function putInPlace(
  unfinished: string,
  staged: string,
  original: string,
  files: readonly string[],
): Promise<boolean> {
  try {
    await rename(unfinished, staged);
    return true;
  } catch (error) {
    const taken = systemCode(error) === "ENOTEMPTY" || systemCode(error) === "EEXIST";
    if (!taken || !(await isOurFolder(staged))) return false;
  }
  // Another process was faster, or an old copy lost files: then it makes room for ours.
  if (await isWholeCopy(staged, original, files)) return true;
  await rename(staged, `${unfinished}.old`);
  await rename(unfinished, staged);
  await rm(`${unfinished}.old`, { recursive: true, force: true });
  return true;
}

/** A second name for the same file costs nothing; a file that others may not read, or on another disk, is copied. */
async function copyReadable(from: string, to: string, folders: Set<string>): Promise<void> {
  await makeFolders(dirname(to), folders);
  const { mode } = await stat(from);
  const wanted = (mode & 0o100) !== 0 ? 0o755 : 0o644;
  if ((mode & 0o777) === wanted && (await linked(from, to))) return;
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, wanted);
}

async function linked(from: string, to: string): Promise<boolean> {
  return await link(from, to).then(
    () => true,
    () => false,
  );
}

/** Makes the folder and its parents, up to the ones in `made`. Modes given to mkdir are cut by the umask, hence chmod. */
async function makeFolders(folder: string, made: Set<string>): Promise<void> {
  if (made.has(folder)) return;
  await makeFolders(dirname(folder), made);
  await mkdir(folder);
  await chmod(folder, 0o755);
  made.add(folder);
}

/** All regular files, relative to the folder; the archives for compiling against PostgreSQL are left out. */
async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".a"))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}
