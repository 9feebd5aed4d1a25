// Worker processes whose jobs call simulated providers.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createClient, defineJob, type WorkerOptions } from "fairmill";
import type { ProviderOptions } from "fairmill/observe";
import { afterEach } from "vitest";
import type { TestDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";

export interface FleetSettings {
  readonly url: string;
  readonly simulator: string;
  /** Each is the fallback of the one before it. */
  readonly providers: readonly Omit<ProviderOptions, "fallback">[];
  readonly options?: Omit<WorkerOptions, "handlers">;
  readonly job?: object;
}

export interface ProviderWorker {
  readonly id: string;
  readonly child: ChildProcess;
  readonly messages: readonly { started?: string; calling?: string; provider?: string; trouble?: string }[];
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const script = fileURLToPath(new URL("./provider-worker.mjs", import.meta.url));
const running = new Set<ProviderWorker>();

async function endAll(): Promise<void> {
  await Promise.all([...running].map((worker) => worker.kill()));
}
endAfterTest(endAll);
afterEach(endAll);

export async function startProviderWorker(settings: FleetSettings): Promise<ProviderWorker> {
  const child = fork(script, {
    env: { ...process.env, TEST_PROVIDERS: JSON.stringify(settings) },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const messages: ProviderWorker["messages"][number][] = [];
  child.on("message", (message) => messages.push(message as (typeof messages)[number]));
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const started = await waitUntil("the worker has started", () => messages.find((one) => one.started));
  const end = async (how: () => void) => {
    how();
    await gone;
    running.delete(worker);
  };
  const worker: ProviderWorker = {
    id: started.started!,
    child,
    messages,
    stop: () => end(() => child.connected && child.send("stop")),
    kill: () => end(() => child.kill("SIGKILL")),
  };
  running.add(worker);
  return worker;
}

export const startFleet = (count: number, settings: FleetSettings): Promise<ProviderWorker[]> =>
  Promise.all(Array.from({ length: count }, () => startProviderWorker(settings)));

/** Jobs of a kind, for the default tenant or another one. */
export async function enqueue(url: string, kind: string, count: number, tenant = "default"): Promise<string[]> {
  const client = createClient({ databaseUrl: url });
  try {
    const items = Array.from({ length: count }, (_, n) => ({ input: { n }, tenant }));
    return (await client.enqueueMany(defineJob<object>({ kind, retry: { attempts: 3 } }), items)).map(({ id }) => id);
  } finally {
    await client.close();
  }
}

export async function doneOf({ query }: Pick<TestDatabase, "query">): Promise<number> {
  const [row] = await query<{ count: number }>(
    "select count(*)::int as count from fairmill.job_history where state = 'done'",
  );
  return row!.count;
}
