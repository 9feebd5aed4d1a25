// The workers of the bot: a supervisor in a process of its own, with two children or more. Children that die are its affair; a supervisor that dies has a
// successor from here, and what it had claimed goes on when its lease is over.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";

const CLI = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const CONFIG = fileURLToPath(new URL("../fairmill.config.ts", import.meta.url));
/** A supervisor that ends by itself right after its start is not started again without a pause. */
const RESTART_PAUSE_MS = 500;
const STOP_MS_MAX = 20_000;

export interface WorkerProcessesOptions {
  /** Is told of a supervisor that ended without being asked to. */
  readonly onLoss?: (text: string) => void;
  /** Is told what the supervisor writes about trouble; default: it goes to the errors of this process. */
  readonly onTrouble?: (line: string) => void;
  /** So many children; default: as the config says. */
  readonly children?: number;
}

export class WorkerProcesses {
  readonly #environment: NodeJS.ProcessEnv;
  readonly #onLoss: (text: string) => void;
  readonly #onTrouble: (line: string) => void;
  readonly #flags: readonly string[];
  readonly #children: string;
  readonly #stopping = new AbortController();
  #supervisor: ChildProcess | undefined;

  constructor(environment: Readonly<Record<string, string>>, options: WorkerProcessesOptions = {}) {
    const { onLoss, onTrouble, children } = options;
    this.#environment = { ...process.env, FAIRMILL_LOG_LEVEL: "error", ...environment };
    this.#onLoss = onLoss ?? (() => {});
    this.#onTrouble = onTrouble ?? ((line) => console.error(line));
    this.#flags = children === undefined ? [] : ["--min", `${children}`, "--max", `${children}`];
    const schema = pg.escapeIdentifier(environment["FAIRMILL_SCHEMA"] ?? "fairmill");
    this.#children = `select c.pid from ${schema}.child c join ${schema}.supervisor s on s.id = c.supervisor
      where s.pid = $1 and c.pid is not null and c.state in ('ready', 'working') order by c.running desc, c.number`;
  }

  start(): void {
    // The channel ends the supervisor, and that its children, when this process is gone, whatever the reason.
    const supervisor = fork(CLI, ["supervise", "--config", CONFIG, ...this.#flags], {
      env: this.#environment,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    // What is not the greeting is trouble, and is told like the rest.
    createInterface(supervisor.stderr!).on("line", (line) => {
      if (!line.startsWith("Supervising pool")) this.#onTrouble(line);
    });
    this.#supervisor = supervisor;
    supervisor.once("exit", (code, signal) => {
      if (this.#supervisor === supervisor) this.#supervisor = undefined;
      if (this.#stopping.signal.aborted) return;
      this.#onLoss(`supervisor ${supervisor.pid} is gone (${signal ?? code}); another one starts`);
      sleep(RESTART_PAUSE_MS, undefined, { signal: this.#stopping.signal }).then(
        () => this.start(),
        () => {},
      );
    });
  }

  /** The processes that draw, the busiest first. */
  async children(): Promise<number[]> {
    const pid = this.#supervisor?.pid;
    if (pid === undefined) return [];
    const db = new pg.Client({ connectionString: this.#environment["DATABASE_URL"] });
    await db.connect();
    try {
      return (await db.query<{ pid: number }>(this.#children, [pid])).rows.map((row) => row.pid);
    } finally {
      await db.end();
    }
  }

  /** Ends a child without warning, as a crash would. Its pid; undefined when none runs. */
  async kill(): Promise<number | undefined> {
    for (const pid of await this.children())
      try {
        process.kill(pid, "SIGKILL");
        return pid;
      } catch {
        // It has ended since it was reported.
      }
    return undefined;
  }

  /** The same for the supervisor. */
  killSupervisor(): number | undefined {
    const { pid } = this.#supervisor ?? {};
    this.#supervisor?.kill("SIGKILL");
    return pid;
  }

  /** Lets go of the channel: running jobs end, the rest is given back, and all processes are gone. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const supervisor = this.#supervisor;
    if (supervisor === undefined || supervisor.exitCode !== null || supervisor.signalCode !== null) return;
    const gone = once(supervisor, "exit");
    if (supervisor.connected) supervisor.disconnect();
    const patience = setTimeout(() => supervisor.kill("SIGKILL"), STOP_MS_MAX);
    await gone;
    clearTimeout(patience);
  }
}
