// Processor time of everything that serves a measurement: the processes that the benchmark started, and PostgreSQL with its backends. On a busy machine it says
// more than the clock does. Linux alone: elsewhere there is no /proc, and nothing is told.
import { readdirSync, readFileSync } from "node:fs";

/** What `getconf CLK_TCK` says everywhere. */
const TICKS_A_SECOND = 100;

function readAll() {
  const all = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = readFileSync(`/proc/${name}/stat`, "utf8");
      // The name of the program stands in parentheses and may hold anything.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      const [own, ended] = [Number(fields[11]) + Number(fields[12]), Number(fields[13]) + Number(fields[14])];
      all.set(Number(name), { parent: Number(fields[1]), own, ended });
    } catch {
      // It has ended meanwhile.
    }
  }
  return all;
}

/** Seconds since they began, or undefined. Our own process plays the browser, and is left out. */
export async function processorSeconds(client) {
  let all;
  try {
    all = readAll();
  } catch {
    return undefined;
  }
  const { rows } = await client.query("select pg_backend_pid() as pid");
  const postmaster = all.get(rows[0].pid)?.parent;
  const isBelow = (pid, root) => {
    for (let at = pid; at !== undefined && at > 1; at = all.get(at)?.parent) if (at === root) return true;
    return false;
  };
  let ticks = all.get(process.pid)?.ended ?? 0;
  for (const [pid, { own, ended }] of all) {
    const isPostgres = postmaster !== undefined && isBelow(pid, postmaster);
    if (isPostgres || (pid !== process.pid && isBelow(pid, process.pid))) ticks += own + ended;
  }
  return ticks / TICKS_A_SECOND;
}

/** Of a process and of the connections that are named as those of clients: what `fairmill serve` has cost so far. The measurement itself names its own otherwise. */
export async function secondsOfServer(client, pid) {
  const { rows } = await client.query(
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'fairmill client'",
  );
  try {
    const all = readAll();
    const ticks = [pid, ...rows.map((row) => row.pid)].map((id) => all.get(id)?.own ?? 0);
    return ticks.reduce((sum, own) => sum + own, 0) / TICKS_A_SECOND;
  } catch {
    return undefined;
  }
}
