// Starts the simulated provider, and reads its log.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { endAfterTest } from "../support/leftovers.js";

export interface Arrival {
  readonly provider: string;
  readonly at: number;
  readonly endedAt?: number;
  readonly job: string | null;
  /** Calls under way, this one included. */
  readonly running: number;
  readonly status: number;
  readonly billed: boolean;
}

export interface Mode {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly latencyMs?: number;
  readonly hangs?: boolean;
}

export interface Simulator {
  readonly url: string;
  /** How providers behave from now on, by name. */
  set(modes: Readonly<Record<string, Mode>>): Promise<void>;
  log(provider?: string): Promise<Arrival[]>;
}

const script = fileURLToPath(new URL("./simulator.mjs", import.meta.url));
const running = new Set<ChildProcess>();

async function endAll(): Promise<void> {
  for (const child of running) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
    running.delete(child);
  }
}
endAfterTest(endAll);
afterEach(endAll);

export async function startSimulator(): Promise<Simulator> {
  const child = fork(script, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  running.add(child);
  const { port } = await new Promise<{ port: number }>((resolve) => child.once("message", resolve as never));
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    set: async (modes) => void (await fetch(`${url}/control`, { method: "POST", body: JSON.stringify(modes) })),
    log: async (provider) => {
      const all = (await (await fetch(`${url}/log`)).json()) as Arrival[];
      return provider === undefined ? all : all.filter((one) => one.provider === provider);
    },
  };
}

/** The most arrivals in any sliding window of this length. */
export function mostWithin(arrivals: readonly { readonly at: number }[], windowMs: number): number {
  const times = arrivals.map(({ at }) => at).toSorted((a, b) => a - b);
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while (times[last]! - times[first]! >= windowMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
