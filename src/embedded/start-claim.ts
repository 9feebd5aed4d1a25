// Lets one process at a time make or start the cluster of a folder. Each contender puts a file with a name of its own there,
// then looks for others: two can never both see themselves alone. Names are never reused, so a dead one is safely removed.

import { randomBytes } from "node:crypto";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deadlineIn, pause } from "./deadline.js";
import { EmbeddedStartError } from "./errors.js";
import { markProcess, type ProcessMark, stillLives } from "./process-identity.js";

const CLAIM_NAME = /^starting\.(\d+)\.([0-9a-f]*)\.[0-9a-f]+$/;
const CLAIM_WAIT_MS = 180_000;

/** Runs `work` while no other process of this machine works on the same folder. */
export async function withStartClaim<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const ours = claimName(await markProcess(process.pid));
  const deadline = deadlineIn(CLAIM_WAIT_MS);
  try {
    for (;;) {
      let rivals = await livingRivals(folder, ours);
      if (rivals.length === 0) {
        await writeFile(join(folder, ours), "", { mode: 0o600 });
        rivals = await livingRivals(folder, ours);
        if (rivals.length === 0) return await work();
        await rm(join(folder, ours), { force: true });
      }
      if (deadline.passed()) {
        throw new EmbeddedStartError(`Process ${rivals[0]} has been starting PostgreSQL in ${folder} for very long.`, {
          advice: "Look at what that process does, or end it, then try again.",
        });
      }
      // Two that withdrew for each other must not come back in step.
      await pause(10 + (randomBytes(1)[0] ?? 0) / 4);
    }
  } finally {
    await rm(join(folder, ours), { force: true });
  }
}

/** The file name that says which process claims the folder; a name is complete as soon as it exists, a content is not. */
function claimName(claimant: ProcessMark): string {
  return `starting.${claimant.pid}.${Buffer.from(claimant.birth).toString("hex")}.${randomBytes(6).toString("hex")}`;
}

/** The process ids behind other claims; claims of processes that ended are removed on the way. */
async function livingRivals(folder: string, ours: string): Promise<number[]> {
  const living: number[] = [];
  for (const name of await readdir(folder)) {
    const match = CLAIM_NAME.exec(name);
    if (match === null || name === ours) continue;
    const claimant = { pid: Number(match[1]), birth: Buffer.from(match[2] ?? "", "hex").toString() };
    if (await stillLives(claimant)) living.push(claimant.pid);
    else await rm(join(folder, name), { force: true });
  }
  return living;
}
