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
const TENANTS = ["acme", "bob", "cleo"];
const LOOK_MS = process.stdout.isTTY ? 200 : 500;

/** In a database that is not the example's own: a schema that is made for this run and dropped after it. */
const GUEST_SCHEMA = "fairmill_example";

/** Asked of the jobs and not counted here: other programs may enqueue more, for these tenants and for others. */
const lanesIn = (schema) => `select tenant, count(*)::int as total, (count(*) filter (where ended))::int as done
  from (select tenant, id, kind, false as ended from ${schema}.job union all select tenant, id, kind, true from ${schema}.job_history) all_jobs
  where kind = 'picture.draw' and id >= $1 group by tenant order by min(id)`;

/** Per tenant: how long its jobs took in all, and how many of acme's ended later than its last. */
const summaryOf = (
  schema,
) => `select tenant, count(*)::int as jobs, extract(epoch from max(ended_at) - min(created_at))::float as seconds,
    (select count(*)::int from ${schema}.job_history other
     where other.id >= $1 and other.tenant = 'acme' and other.ended_at > max(mine.ended_at)) as acme_left
  from ${schema}.job_history mine where kind = 'picture.draw' and id >= $1 group by tenant order by max(ended_at)`;

/** `isOurs`: a database of the example's own, where everything may stay. */
export async function run({ databaseUrl, isOurs }, signal) {
  const schema = isOurs ? "fairmill" : GUEST_SCHEMA;
  const db = new pg.Pool({ connectionString: databaseUrl });
  // An idle connection that breaks is no news: the next query says so.
  db.on("error", () => {});
  const client = createClient({ db, schema });
  const workers = [];
  const view = new LanesView();
  let madeSchema = false;
  let number = 0;
  let firstId;

  const enqueue = async (tenant, count) => {
    const stored = await client.enqueueMany(
      drawPicture,
      Array.from({ length: count }, () => ({ input: { number: ++number }, tenant })),
    );
    firstId ??= stored[0].id;
  };
  /** Looks and draws until it is over, or Ctrl-C is pressed. */
  const watchUntil = async (isOver, betweenLooks = async () => {}) => {
    while (!signal.aborted) {
      const { rows } = await db.query(lanesIn(schema), [firstId]);
      view.show(rows);
      if (isOver(rows)) return;
      const dead = workers.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null);
      if (dead && !signal.aborted) throw new Error(`A worker process ended (${dead.signalCode ?? dead.exitCode}).`);
      await betweenLooks();
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
    }
  };

  try {
    if (!isOurs) {
      await makeSchema(db, databaseUrl);
      madeSchema = true;
    }
    await client.migrate();
    await cancelLeftovers(client);
    if (signal.aborted) return;
    workers.push(startWorker(databaseUrl, schema), startWorker(databaseUrl, schema));
    console.log(
      "\nacme enqueues 600 pictures. bob and cleo come a little later with 60 each. Two worker processes draw them.\n",
    );
    await enqueue("acme", 600);
    await watchUntil((lanes) => lanes.some(({ done }) => done >= 60));
    await enqueue("bob", 60);
    await enqueue("cleo", 60);
    await watchUntil((lanes) => lanes.every(({ done, total }) => done === total));
    if (!signal.aborted) printSummary((await db.query(summaryOf(schema), [firstId])).rows, firstId, isOurs);
    view.leave();
    // On a terminal it goes on with a trickle, so that there is something to look at; elsewhere this is the end.
    if (process.stdout.isTTY)
      await watchUntil(
        () => false,
        () => enqueue(TENANTS[number % 3], 1),
      );
  } finally {
    await Promise.all(workers.map(stopWorker));
    await client.close();
    if (madeSchema) await db.query(`drop schema ${GUEST_SCHEMA} cascade`);
    await db.end();
  }
}

/** Fails when it is there: another example runs in that database, or one was killed before it could drop it. */
async function makeSchema(db, databaseUrl) {
  const { host, pathname } = new URL(databaseUrl);
  try {
    await db.query(`create schema ${GUEST_SCHEMA}`);
  } catch (error) {
    if (error.code !== "42P06") throw error;
    throw new Error(`The schema ${GUEST_SCHEMA} is in ${host}${pathname} already: the example runs there, or was killed before it could clean up.
If it does not run, remove it: drop schema ${GUEST_SCHEMA} cascade`);
  }
  console.log(
    `Database: ${host}${pathname}, in the schema ${GUEST_SCHEMA}, which is made for this example and dropped at its end.`,
  );
}

/** What an interrupted run left waiting would only blur the picture. */
async function cancelLeftovers(client) {
  for (;;) {
    const left = await client.jobs.list({ kind: drawPicture.kind, state: "ready", limit: 200 });
    if (left.length === 0) return;
    await Promise.all(left.map(({ id }) => client.cancel(id)));
  }
}

function printSummary(lanes, firstId, isOurs) {
  console.log();
  for (const { tenant, jobs, seconds, acme_left } of lanes) {
    const left = tenant === "acme" ? "" : `, while ${acme_left} of acme's were still waiting or running`;
    console.log(`  ${tenant.padEnd(5)} ${String(jobs).padStart(3)} jobs done in ${seconds.toFixed(1)} s${left}`);
  }
  console.log(
    "\nEvery tenant has a lane of its own, and workers take from all lanes in turn: a full lane delays only itself.",
  );
  // The commands find the PostgreSQL of this folder by themselves, while it runs, unless the environment names another one.
  const command = process.env.DATABASE_URL ? "env -u DATABASE_URL node dist/cli/main.js" : "node dist/cli/main.js";
  if (isOurs)
    console.log(`Try next, in a second terminal while ${process.stdout.isTTY ? "this runs" : "`npm run example:fair-lanes` runs in a first one"}:
  ${command} jobs --tenant bob
  ${command} job ${firstId}
  ${command} enqueue picture.draw '{"number":1}' --tenant dora --queue pictures`);
  if (process.stdout.isTTY) console.log("\nA trickle of jobs goes on. Ctrl-C stops everything.\n");
}

/** A process of its own, which stops when the channel to this one closes. */
const startWorker = (databaseUrl, schema) =>
  fork(CLI, ["work", "--config", CONFIG, "--schema", schema], {
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
