// A folder of one test, which is gone when the test has ended.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endAfterTest } from "./leftovers.js";

export async function temporaryFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `fairmill-${name}-`));
  endAfterTest(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
