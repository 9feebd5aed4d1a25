// Starts real worker processes, and ends them: gently, by SIGKILL, or by SIGSTOP and SIGCONT.
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { JobLimits, WorkerOptions } from "fairmill";
import { endAfterTest } from "./leftovers.js";

export interface Message {
  started?: string;
  held?: string;
  attempt?: number;
  paid?: number;
  refused?: string[];
  lost?: boolean;
  trouble?: string;
  unhandled?: string;
}

export interface WorkerProcess {
  readonly child: ChildProcess;
  readonly messages: readonly Message[];
  /** The first message, past or future, that fits. */
  heard(matches: (message: Message) => boolean, what: string): Promise<Message>;
  tell(word: "let go"): void;
  signal(signal: NodeJS.Signals): void;
  /** Ends gracefully; resolves when the process is gone. */
  stop(): Promise<void>;
  kill(): Promise<void>;
  readonly gone: Promise<number | null>;
}

const script = fileURLToPath(new URL("./worker-process.mjs", import.meta.url));
const running = new Set<WorkerProcess>();

/** What a test forgot is ended after it, by its id. */
async function endForgotten(): Promise<void> {
  for (const worker of running) {
    worker.signal("SIGCONT");
    await worker.kill();
  }
}
endAfterTest(endForgotten);

/** `limits` are those of the kind "limited"; `env` is added to the environment. `receiver`: whom the channels of `channels.mjs` send to; without it there are none. */
export async function startWorkerProcess(
  url: string,
  kinds: readonly string[],
  options: Omit<WorkerOptions, "handlers" | "databaseUrl"> = {},
  limits?: JobLimits,
  receiver?: { readonly url: string; readonly policies?: Readonly<Record<string, string>> },
  env: NodeJS.ProcessEnv = {},
): Promise<WorkerProcess> {
  const child = fork(script, {
    env: { ...process.env, ...env, TEST_WORKER: JSON.stringify({ url, kinds, options, limits, receiver }) },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const messages: Message[] = [];
  const listeners = new Set<() => void>();
  child.on("message", (message: Message) => {
    messages.push(message);
    if (message.unhandled) console.error("unhandled in worker process:", message.unhandled);
    for (const listener of listeners) listener();
  });
  const gone = new Promise<number | null>((resolve) => child.on("exit", (code) => resolve(code)));
  const worker: WorkerProcess = {
    child,
    messages,
    gone,
    heard: (matches, what) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const message = messages.find(matches);
          if (message) finish(() => resolve(message));
        };
        const timer = setTimeout(
          () => finish(() => reject(new Error(`Not heard from worker ${child.pid}: ${what}.`))),
          120_000,
        );
        const finish = (then: () => void) => {
          clearTimeout(timer);
          listeners.delete(look);
          then();
        };
        void gone.then((code) =>
          finish(() => reject(new Error(`Worker ${child.pid} ended (${code}) before: ${what}.`))),
        );
        listeners.add(look);
        look();
      }),
    tell: (word) => void child.send(word),
    signal: (signal) => void child.kill(signal),
    stop: async () => {
      if (child.connected) child.send("stop");
      await gone;
      running.delete(worker);
    },
    kill: async () => {
      child.kill("SIGKILL");
      await gone;
      running.delete(worker);
    },
  };
  running.add(worker);
  await worker.heard((message) => message.started !== undefined, "started");
  return worker;
}
