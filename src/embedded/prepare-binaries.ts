// Picks the first binaries that really run as the server's user, after making their missing links or staging a copy of them.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedMissingError, EmbeddedStartError } from "./errors.js";
import { type BinaryCandidate, type BinarySource, findBinaries } from "./find-binaries.js";
import { runProgram } from "./run-program.js";
import { ourselves, type ServerUser } from "./server-user.js";
import { makeMissingLinks } from "./shared-links.js";
import { stageBinaries } from "./stage-binaries.js";
import { stagingBases } from "./staging-folder.js";

export interface PreparedBinaries {
  readonly binDir: string;
  /** As PostgreSQL reports it, for example "18.4". */
  readonly version: string;
}

/** Binaries for this cluster. An existing cluster runs only with the major version that made it. */
export async function prepareBinaries(
  source: BinarySource,
  user: ServerUser,
  clusterDir: string,
): Promise<PreparedBinaries> {
  const major = await clusterMajor(clusterDir);
  const failures: string[] = [];
  for (const candidate of await findBinaries(source)) {
    const attempt = await prepareCandidate(candidate, user);
    if ("failure" in attempt) failures.push(`${candidate.binDir}: ${attempt.failure}`);
    else if (major === undefined || attempt.version.split(".")[0] === major) return attempt;
    else failures.push(`${candidate.binDir}: has version ${attempt.version}`);
  }
  if (major !== undefined) {
    throw new EmbeddedStartError(
      `The cluster in ${clusterDir} was made by PostgreSQL ${major}, and none is found that runs.`,
      {
        advice: `Install that version, or remove the folder to begin with an empty database.`,
        logLines: failures,
      },
    );
  }
  throw new EmbeddedMissingError(`PostgreSQL was found, but does not run here (${failures.join("; ")}).`);
}

async function prepareCandidate(
  candidate: BinaryCandidate,
  user: ServerUser,
): Promise<PreparedBinaries | { failure: string }> {
  const linked = candidate.npmPackage === undefined || (await makeMissingLinks(candidate.npmPackage.folder));
  const inPlace = await tryVersion(candidate.binDir, user);
  if (linked && "version" in inPlace) return inPlace;
  if (candidate.npmPackage === undefined) return inPlace;
  // A copy helps against a closed folder and missing links, not against binaries for another machine.
  const copyHelps = !linked || (user.switched && "version" in (await tryVersion(candidate.binDir, ourselves())));
  return (copyHelps ? await prepareCopy(candidate.npmPackage, user) : undefined) ?? inPlace;
}

async function prepareCopy(
  npmPackage: { folder: string; id: string },
  user: ServerUser,
): Promise<PreparedBinaries | undefined> {
  for (const base of stagingBases(false)) {
    const staged = await stageBinaries(npmPackage, base);
    // A temporary folder may be mounted so that nothing in it can be executed.
    const attempt = staged === undefined ? undefined : await tryVersion(staged, user);
    if (attempt !== undefined && "version" in attempt) return attempt;
  }
  return undefined;
}

/** Running it proves in one go that the user can reach it, may execute it, and that all its libraries are found. */
async function tryVersion(binDir: string, user: ServerUser): Promise<PreparedBinaries | { failure: string }> {
  const { exitCode, output } = await runProgram(join(binDir, "postgres"), ["--version"], { user, timeoutMs: 20_000 });
  const version = /\(PostgreSQL\) (\S+)/.exec(output)?.[1];
  if (exitCode === 0 && version !== undefined) return { binDir, version };
  return { failure: output.trim() || `exit code ${exitCode}` };
}

async function clusterMajor(clusterDir: string): Promise<string | undefined> {
  return await readFile(join(clusterDir, "PG_VERSION"), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}
