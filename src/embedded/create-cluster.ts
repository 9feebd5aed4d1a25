// Makes a new cluster: initdb into a folder beside the real one, the database `fairmill`, then a rename. A process that is killed in
// between leaves an unfinished folder that the next one sweeps away, never half a cluster.

import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DataHome } from "./data-home.js";
import { EmbeddedStartError } from "./errors.js";
import type { PreparedBinaries } from "./prepare-binaries.js";
import { runProgram } from "./run-program.js";
import { lastLines } from "./server-log.js";

/** Inside the cluster, so that it comes and goes with it; the cluster's folder is closed to other users. */
export const PASSWORD_FILE = "fairmill.password";

const UNFINISHED = "unfinished-";

/** Only for the holder of the start claim: no other process makes a cluster here. */
export async function createCluster(dataHome: DataHome, binaries: PreparedBinaries, durable: boolean): Promise<void> {
  await sweepUnfinished(dataHome.home);
  const workDir = join(dataHome.home, `${UNFINISHED}${randomBytes(6).toString("hex")}`);
  const unfinished = join(workDir, "cluster");
  const passwordFile = join(workDir, PASSWORD_FILE);
  try {
    await mkdir(workDir, { mode: 0o700 });
    await chmod(workDir, 0o700);
    await writeFile(passwordFile, randomBytes(24).toString("base64url"), { mode: 0o600 });
    if (dataHome.user.switched) {
      await chown(passwordFile, dataHome.user.uid, dataHome.user.gid);
      await chown(workDir, dataHome.user.uid, dataHome.user.gid);
    }
    await initialise(unfinished, passwordFile, dataHome, binaries, durable);
    await rename(passwordFile, join(unfinished, PASSWORD_FILE));
    await rename(unfinished, dataHome.clusterDir);
  } finally {
    await rm(workDir, { recursive: true, force: true }).catch(() => {});
  }
}

async function initialise(
  clusterDir: string,
  passwordFile: string,
  { user }: DataHome,
  { binDir }: PreparedBinaries,
  durable: boolean,
): Promise<void> {
  // Without -E and --locale, a machine without LANG gives a database that knows no UTF-8.
  const made = await runProgram(
    join(binDir, "initdb"),
    [
      ...["-D", clusterDir, "-U", "fairmill", "-E", "UTF8", "--locale=C"],
      ...["-A", "scram-sha-256", `--pwfile=${passwordFile}`, "--no-instructions", ...(durable ? [] : ["--no-sync"])],
    ],
    { user, cwd: join(clusterDir, "..") },
  );
  if (made.exitCode !== 0) throw failure("initdb could not make the database cluster.", made.output);
  // A server of one user on one pipe: no port, no password, no driver.
  const created = await runProgram(
    join(binDir, "postgres"),
    ["--single", ...(durable ? [] : ["-F"]), "-D", clusterDir, "-c", "exit_on_error=on", "template1"],
    { user, cwd: clusterDir, input: "CREATE DATABASE fairmill\n" },
  );
  if (created.exitCode !== 0) throw failure("The database `fairmill` could not be created.", created.output);
}

function failure(what: string, output: string): EmbeddedStartError {
  return new EmbeddedStartError(what, {
    advice: "Check that the disk has room and that the data folder can be written, or set DATABASE_URL.",
    logLines: lastLines(output),
  });
}

async function sweepUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    // An initdb whose parent was killed may still write there for a short time: what is left now is swept next time.
    if (name.startsWith(UNFINISHED)) await rm(join(home, name), { recursive: true, force: true }).catch(() => {});
  }
}
