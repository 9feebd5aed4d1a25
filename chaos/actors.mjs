// The four workers of the programme as real processes. One that is killed has a successor at once.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { sleep } from "./dice.mjs";

const PROCESS = fileURLToPath(new URL("actor-process.mjs", import.meta.url));
export const ROLES = ["worker", "worker", "supervisor", "ticks"];
const STOP_MS_MAX = 60_000;

class Actor {
  children = [];
  isPaused = false;
  process;

  constructor(role, env, { onUnhandled, onRefused }) {
    this.process = fork(PROCESS, {
      env: { ...env, CHAOS_ACTOR: JSON.stringify(role) },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.started = new Promise((resolve) => {
      this.process.on("message", ({ started, children, unhandled, refused }) => {
        if (refused) onRefused(refused);
        if (started) resolve();
        if (children) this.children = children;
        if (unhandled) onUnhandled(unhandled);
      });
      this.process.on("exit", resolve);
    });
    this.gone = new Promise((resolve) => this.process.on("exit", resolve));
  }
}

export class Actors {
  /** What no promise was caught for, in any process: there must be nothing. */
  unhandled = [];
  /** Why processes could not start, although the database answered. */
  refused = new Set();
  #env;
  #leaseMs;
  #actors = [];
  #isStopping = false;

  constructor({ databaseUrl, receiverUrl, leaseMs }) {
    const own = Object.entries(process.env).filter(([name]) => !/^(FAIRMILL_|DATABASE_|NODE_OPTIONS)/.test(name));
    this.#env = { ...Object.fromEntries(own), CHAOS_DATABASE_URL: databaseUrl, CHAOS_RECEIVER_URL: receiverUrl };
    this.#leaseMs = leaseMs;
  }

  async start() {
    for (const role of ROLES) this.#replace(undefined, role);
    await Promise.all(this.#actors.map(({ started }) => started));
  }

  #replace(old, role) {
    const actor = new Actor({ role, leaseMs: this.#leaseMs }, this.#env, {
      onUnhandled: (text) => this.unhandled.push(text),
      onRefused: (text) => this.refused.add(text),
    });
    this.#actors = [...this.#actors.filter((one) => one !== old), actor];
    void actor.gone.then(() => {
      if (!this.#isStopping) this.#replace(actor, role);
    });
  }

  get actors() {
    return this.#actors;
  }

  /** Processes that can be hurt: the four, and the supervisor's children. */
  get pids() {
    return this.#actors.flatMap(({ process: { pid }, children }) => [pid, ...children]);
  }

  /** Ends all of them gracefully, whatever state they are in. */
  async stop() {
    this.#isStopping = true;
    for (const pid of this.pids) signal(pid, "SIGCONT");
    for (const { process: child } of this.#actors) if (child.connected) child.send("stop");
    const all = Promise.all(this.#actors.map(({ gone }) => gone));
    await Promise.race([all, sleep(STOP_MS_MAX)]);
    await this.kill();
  }

  async kill() {
    this.#isStopping = true;
    for (const pid of this.pids) signal(pid, "SIGKILL");
    await Promise.all(this.#actors.map(({ gone }) => gone));
  }
}

/** False: the process is gone. */
export function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
