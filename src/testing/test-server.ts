// The PostgreSQL of tests: the one that is named, or an embedded one for all kits of this process, without durability and gone with it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeEmbedded, startEmbedded } from "../embedded/index.js";

export interface TestServer {
  readonly url: string;
  /** Ends the server and removes its data; what DATABASE_URL names stays. */
  stop(): Promise<void>;
}

let started: Promise<TestServer> | undefined;

/** For a global set-up: start it once, put its address into DATABASE_URL, and every test process uses the same server. */
export async function startTestServer(): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "fairmill-test-"));
  try {
    const { url } = await startEmbedded({ dataDir: folder, durable: false });
    return { url, stop: () => removeEmbedded(folder) };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** The server of this process, started by the first kit that needs it. It ends when the process does. */
export async function addressOfServer(): Promise<string> {
  const named = process.env["DATABASE_URL"];
  if (named) return named;
  started ??= startTestServer().catch((error: unknown) => {
    started = undefined;
    throw error;
  });
  return (await started).url;
}
