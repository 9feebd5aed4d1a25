// Where a test run keeps its files: in memory, where there is enough of it. Databases are made and dropped hundreds of times, and on a disk their files
// cost more processor time than what is asked of them.
import { accessSync, constants, readFileSync, statfsSync } from "node:fs";
import { freemem } from "node:os";

const FOLDER = "/dev/shm";
/** What a whole run needs at most, and what is left to everything else on the machine. */
const NEEDED_BYTES = 6 * 1024 ** 3;
const SPARE_BYTES = 4 * 1024 ** 3;

/** The folder in memory, or undefined where there is none, where it is small, or where programs in it may not be run. */
export function memoryFolder(): string | undefined {
  try {
    accessSync(FOLDER, constants.W_OK);
    const { bavail, bsize } = statfsSync(FOLDER);
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .findLast(([, place]) => place === FOLDER);
    const isRoomy = bavail * bsize >= NEEDED_BYTES && freemem() >= NEEDED_BYTES + SPARE_BYTES;
    return isRoomy && mount?.[2] === "tmpfs" && !mount[3]?.split(",").includes("noexec") ? FOLDER : undefined;
  } catch {
    // Not Linux.
    return undefined;
  }
}
