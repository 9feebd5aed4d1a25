// Two worker processes, and a new one for each that dies. The one place that a supervisor takes over: `createSupervisor` with this config.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const CONFIG = fileURLToPath(new URL("../fairmill.config.ts", import.meta.url));
/** A worker that ends by itself right after its start is not started again without a pause. */
const RESTART_PAUSE_MS = 500;
const STOP_MS_MAX = 20_000;

export class WorkerProcesses {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #running = new Set<ChildProcess>();
  readonly #onLoss: (text: string) => void;
  readonly #stopping = new AbortController();

  /** `onLoss` is told of a worker that ended without being asked to. */
  constructor(environment: Readonly<Record<string, string>>, onLoss: (text: string) => void = () => {}) {
    this.#environment = { ...process.env, FAIRMILL_LOG_LEVEL: "error", ...environment };
    this.#onLoss = onLoss;
  }

  start(count: number): void {
    for (let n = 0; n < count; n++) this.#startOne();
  }

  /** Ends one without warning, as a crash would. Its pid; undefined when none runs. */
  kill(): number | undefined {
    const [worker] = this.#running;
    worker?.kill("SIGKILL");
    return worker?.pid;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#running].map(stopOne));
  }

  #startOne(): void {
    // The channel ends the worker when this process is gone, whatever the reason.
    const worker = fork(CLI, ["work", "--config", CONFIG], {
      env: this.#environment,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#running.add(worker);
    worker.once("exit", (code, signal) => {
      this.#running.delete(worker);
      if (this.#stopping.signal.aborted) return;
      this.#onLoss(`worker ${worker.pid} is gone (${signal ?? code}); another one starts`);
      sleep(RESTART_PAUSE_MS, undefined, { signal: this.#stopping.signal }).then(
        () => this.#startOne(),
        () => {},
      );
    });
  }
}

/** Lets go of the channel: the worker finishes what it has, gives back the rest, and ends. */
async function stopOne(worker: ChildProcess): Promise<void> {
  const gone = once(worker, "exit");
  if (worker.connected) worker.disconnect();
  const patience = setTimeout(() => worker.kill("SIGKILL"), STOP_MS_MAX);
  await gone;
  clearTimeout(patience);
}
