// Three tenants share two worker processes. acme comes first with 600 jobs, then bob and cleo with 60 each: who waits for whom?
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "fairmill";
import pg from "pg";
import { drawPicture } from "./picture.mjs";
import { LanesView } from "./view.mjs";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const CONFIG = fileURLToPath(new URL("fairmill.config.mjs", import.meta.url));
const LOOK_MS = process.stdout.isTTY ? 200 : 500;

const DONE = `select tenant, count(*)::int as done from fairmill.job_history
  where kind = 'picture.draw' and id >= $1 group by tenant`;

/** Per tenant: how long its jobs took in all, and how many of acme's ended later than its last. */
const SUMMARY = `select tenant, count(*)::int as jobs, extract(epoch from max(ended_at) - min(created_at))::float as seconds,
    (select count(*)::int from fairmill.job_history other
     where other.id >= $1 and other.tenant = 'acme' and other.ended_at > max(mine.ended_at)) as acme_left
  from fairmill.job_history mine where kind = 'picture.draw' and id >= $1 group by tenant order by max(ended_at)`;

export async function run(databaseUrl, signal) {
  const db = new pg.Pool({ connectionString: databaseUrl });
  // An idle connection that breaks is no news: the next query says so.
  db.on("error", () => {});
  const client = createClient({ db });
  const workers = [];
  const totals = new Map([
    ["acme", 0],
    ["bob", 0],
    ["cleo", 0],
  ]);
  const view = new LanesView();
  let firstId;

  const enqueue = async (tenant, count) => {
    const numbers = Array.from({ length: count }, (_, i) => totals.get(tenant) + i + 1);
    const stored = await client.enqueueMany(
      drawPicture,
      numbers.map((number) => ({ input: { number }, tenant })),
    );
    firstId ??= stored[0].id;
    totals.set(tenant, totals.get(tenant) + count);
  };
  /** Looks and draws until so many jobs are done, or somebody presses Ctrl-C. */
  const watchUntil = async (wanted, betweenLooks = async () => {}) => {
    while (!signal.aborted) {
      const { rows } = await db.query(DONE, [firstId]);
      const done = new Map(rows.map((row) => [row.tenant, row.done]));
      view.show([...totals].map(([tenant, total]) => ({ tenant, done: done.get(tenant) ?? 0, total })));
      if ([...done.values()].reduce((sum, count) => sum + count, 0) >= wanted) return;
      const dead = workers.find((worker) => worker.exitCode !== null);
      if (dead && !signal.aborted) throw new Error(`A worker process ended with exit code ${dead.exitCode}.`);
      await betweenLooks();
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  };

  try {
    await client.migrate();
    await cancelLeftovers(client);
    workers.push(startWorker(databaseUrl), startWorker(databaseUrl));
    console.log(
      "acme enqueues 600 pictures. bob and cleo come a little later with 60 each. Two worker processes draw them.\n",
    );
    await enqueue("acme", 600);
    await watchUntil(60);
    await enqueue("bob", 60);
    await enqueue("cleo", 60);
    await watchUntil(720);
    if (!signal.aborted) printSummary((await db.query(SUMMARY, [firstId])).rows, firstId);
    view.leave();
    // On a terminal it goes on with a trickle, so that there is something to look at; elsewhere this is the end.
    if (process.stdout.isTTY)
      await watchUntil(Number.POSITIVE_INFINITY, () => enqueue([...totals.keys()][Math.floor(Math.random() * 3)], 1));
  } finally {
    await Promise.all(workers.map(stopWorker));
    await client.close();
    await db.end();
  }
}

/** What an interrupted run left waiting would only blur the picture. */
async function cancelLeftovers(client) {
  for (;;) {
    const left = await client.jobs({ kind: drawPicture.kind, state: "ready", limit: 200 });
    if (left.length === 0) return;
    await Promise.all(left.map(({ id }) => client.cancel(id)));
  }
}

function printSummary(lanes, firstId) {
  console.log();
  for (const { tenant, jobs, seconds, acme_left } of lanes) {
    const left = tenant === "acme" ? "" : `, while ${acme_left} of acme's were still waiting or running`;
    console.log(`  ${tenant.padEnd(5)} ${String(jobs).padStart(3)} jobs done in ${seconds.toFixed(1)} s${left}`);
  }
  console.log(`
Every tenant has a lane of its own, and workers take from all lanes in turn: a full lane delays only itself.
Try next, in a second terminal while this runs in a first one:
  node dist/cli/main.js jobs --tenant bob
  node dist/cli/main.js job ${firstId}
  node dist/cli/main.js enqueue picture.draw '{"number":1}' --tenant dora --queue pictures
${process.stdout.isTTY ? "\nA trickle of jobs goes on. Ctrl-C stops everything.\n" : ""}`);
}

/** A process of its own, which stops when the channel to this one closes. */
const startWorker = (databaseUrl) =>
  fork(CLI, ["work", "--config", CONFIG], {
    env: { ...process.env, DATABASE_URL: databaseUrl, FAIRMILL_LOG_LEVEL: "error" },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });

async function stopWorker(worker) {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const gone = once(worker, "exit");
  if (worker.connected) worker.disconnect();
  const patience = setTimeout(() => worker.kill("SIGKILL"), 20_000);
  await gone;
  clearTimeout(patience);
}
