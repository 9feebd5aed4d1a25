// What goes wrong, by dice: processes are killed and stopped, connections are cut, PostgreSQL crashes. Each fault has a rate of its own; they combine.
import { signal as send } from "./actors.mjs";
import { pick, sleep } from "./dice.mjs";

const MINUTE_MS = 60_000;

/** By name, how often a minute, and what it does. */
export const FAULTS = {
  kills: { perMinute: 40, strike: ({ actors, random }) => send(pick(random, actors.pids), "SIGKILL") },
  pauses: { perMinute: 20, strike: pause },
  backends: { perMinute: 60, strike: cut },
  crashes: { perMinute: 2, strike: crash },
};

/** Stopped for up to two leases: others take its jobs over, and it comes back. */
async function pause({ actors, random, leaseMs, signal }) {
  const pid = pick(random, actors.pids);
  const ms = random() * 2 * leaseMs;
  if (!send(pid, "SIGSTOP")) return false;
  await sleep(ms, signal);
  send(pid, "SIGCONT");
  return true;
}

async function cut({ observer, random }) {
  const rows = await observer.ask(
    "select pid from pg_stat_activity where datname = current_database() and application_name like any ('{fairmill%,chaos application}')",
  );
  if (rows === undefined || rows.length === 0) return false;
  await observer.ask("select pg_terminate_backend($1)", [pick(random, rows).pid]);
  return true;
}

async function crash({ server }) {
  await server.stop("immediate");
  await server.restart();
  return true;
}

/** Strikes until the signal aborts; counts what struck. */
export class Faults {
  counts = {};
  #context;
  #names;

  constructor(names, context) {
    this.#names = names;
    this.#context = context;
    for (const name of names) this.counts[name] = 0;
  }

  async run(signal) {
    await Promise.all(this.#names.map((name) => this.#repeat(name, signal)));
  }

  async #repeat(name, signal) {
    const { perMinute, strike } = FAULTS[name];
    const { random } = this.#context;
    for (;;) {
      // As rare events come: by chance, not by a clock.
      await sleep((-Math.log(1 - random()) * MINUTE_MS) / perMinute, signal);
      if (signal.aborted) return;
      if (await strike({ ...this.#context, signal })) this.counts[name]++;
    }
  }
}
