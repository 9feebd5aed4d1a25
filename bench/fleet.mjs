// Worker processes, as real ones as in production: forked, one Node each.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { RunRecord } from "./record.mjs";
import { now, sleep } from "./statistics.mjs";

const WORKER = fileURLToPath(new URL("worker-process.mjs", import.meta.url));
const STOP_MS_MAX = 60_000;

/** Forks a file of the benchmark; it is killed with the benchmark, and does not see settings meant for other workers. */
export function forkChild(bench, file) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(FAIRMILL_|DATABASE_URL$)/.test(name)),
  );
  const child = fork(file, { serialization: "advanced", env, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  bench.children.add(child);
  child.once("exit", () => bench.children.delete(child));
  return child;
}

/** The next message that fits; rejects when the process ends before it. */
export function messageOf(child, fits) {
  return new Promise((resolve, reject) => {
    const leave = () => {
      child.off("message", hear);
      child.off("exit", lament);
    };
    const hear = (message) => {
      if (!fits(message)) return;
      leave();
      resolve(message);
    };
    const lament = (code, signal) => {
      leave();
      reject(new Error(`A child process of the benchmark ended early (${signal ?? `exit code ${code}`}).`));
    };
    child.on("message", hear);
    child.on("exit", lament);
  });
}

export class Fleet {
  #children;
  #ran;
  #liveAt = Number.POSITIVE_INFINITY;

  /**
   * Starts workers on a queue; resolves when all of them are live. `jobs` is how many job numbers there are. All of them have loaded their code before the
   * first one starts: several processes that load at once would be measured by their disk reads.
   */
  static async start(bench, { system, url, settings, jobs, processes = 1 }) {
    const fleet = new Fleet();
    fleet.#children = Array.from({ length: processes }, () => forkChild(bench, WORKER));
    fleet.#ran = fleet.#children.map(() => 0);
    await Promise.all(
      fleet.#children.map(async (child, i) => {
        child.on("message", ({ ran }) => {
          if (ran !== undefined) fleet.#ran[i] = ran;
        });
        child.send({ file: system.file, url, settings, jobs });
        await messageOf(child, (message) => message === "loaded");
      }),
    );
    await Promise.all(
      fleet.#children.map(async (child) => {
        child.send("start");
        await messageOf(child, (message) => message === "started");
        fleet.#liveAt = Math.min(fleet.#liveAt, now());
      }),
    );
    return fleet;
  }

  get ran() {
    return this.#ran.reduce((sum, count) => sum + count, 0);
  }

  /** Waits until so many jobs have started. */
  async reach(count, limitMs) {
    const endMs = now() + limitMs;
    while (this.ran < count) {
      if (now() > endMs) throw new Error(`Only ${this.ran} of ${count} jobs ran in ${limitMs / 1000} s.`);
      if (this.#children.some((child) => !child.connected)) throw new Error("A worker process ended early.");
      await sleep(5);
    }
  }

  /** Stops gracefully and returns what ran. */
  async stop() {
    const parts = this.#children.map(async (child) => {
      const answer = messageOf(child, (message) => message.startedAt !== undefined);
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.send("stop");
      const deadline = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
      const { startedAt, twice, memory } = await answer;
      await exited;
      clearTimeout(deadline);
      return new RunRecord(startedAt, twice, this.#liveAt, memory);
    });
    return RunRecord.merge(await Promise.all(parts));
  }
}
