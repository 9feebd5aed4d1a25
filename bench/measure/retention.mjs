// Retention at size: a million ended jobs of which three quarters go by a rule, and 100,000 files of which half go. The process that removes them is killed in the
// middle and another goes on. Beside it jobs are enqueued and settled all the time. Fails when memory or a lock wait is above its bound, or when the wrong ones are gone.
import { fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createClient, defineJob } from "../../dist/index.js";
import { fairmill } from "../systems.mjs";

const PROCESS = fileURLToPath(new URL("../retention-process.mjs", import.meta.url));
const DAYS = 4;
/** What a process that removes may need more than at its beginning, and the longest that a session beside it may wait for a lock. */
const GROWTH_BYTES_MAX = 64 * 2 ** 20;
const LOCK_MS_MAX = 500;
const beside = defineJob({ kind: "beside" });
const megabytes = (bytes) => Math.round(bytes / 2 ** 20);

export async function measure(bench) {
  const history = await bench.server.withDatabase(fairmill, fairmill.adapter.modes.drain, (database) =>
    ofHistory(bench, database),
  );
  const files = await ofFiles(bench);
  const rows = [history, files];
  const problems = rows.flatMap((row) => [
    ...(row["RSS grew, MB"] > megabytes(GROWTH_BYTES_MAX) ? [`memory grows: ${row[""]}`] : []),
    ...(row["longest lock wait, ms"] > LOCK_MS_MAX ? [`a session waited for a lock: ${row[""]}`] : []),
    ...(row.wrong > 0 ? [`${row.wrong} went or stayed wrongly: ${row[""]}`] : []),
  ]);
  return {
    tables: [
      {
        title: "Retention",
        about:
          "Removed by one process that is killed (SIGKILL) after a third and by another that goes on. RSS: of the process that removes, highest, and how much more than at its beginning. Lock waits: the longest of all sessions, sampled every 20 ms, while jobs are enqueued and settled one after the other.",
        rows,
      },
    ],
    problems,
  };
}

async function ofHistory(bench, database) {
  const count = bench.size(1_000_000);
  const pool = new pg.Pool({ connectionString: database.url, max: 3 });
  // A connection that is still being closed when its database is dropped says so.
  pool.on("error", () => {});
  const ask = async (text, values) => (await pool.query(text, values)).rows;
  bench.say(`${count.toLocaleString("en")} ended jobs of ${DAYS} days`);
  for (let n = 0; n < DAYS; n++) await fillDay(ask, 10 + n, count / DAYS);
  await ask("select fairmill.set_retention_v1(7 * 86400000::bigint, state => 'done')");
  const left = async () =>
    (await ask("select count(*)::float8 as n from fairmill.job_history where kind = 'old' and state = 'done'"))[0].n;
  const client = createClient({ databaseUrl: database.url });
  const stop = new AbortController();
  const loop = enqueueAndSettle(client, stop.signal);
  const locks = watchLocks(ask, stop.signal);
  const all = await left();
  const begun = performance.now();
  const memory = [];
  for (const until of [all / 3, all]) {
    const child = start(bench, ["history", database.url]);
    const seen = { first: 0, most: 0 };
    memory.push(seen);
    child.on("message", ({ rss }) => {
      seen.first ||= rss;
      seen.most = Math.max(seen.most, rss);
    });
    bench.say(`removing, ${until === all ? "by a second process" : "until a third is gone, then SIGKILL"}`);
    while (all - (await left()) < until) await new Promise((resolve) => setTimeout(resolve, 250));
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
  }
  const seconds = (performance.now() - begun) / 1000;
  stop.abort();
  const [{ jobs, slowestMs }, lockMs] = await Promise.all([loop, locks]);
  const [{ n: kept }] = await ask("select count(*)::float8 as n from fairmill.job_history where kind = 'old'");
  await client.close();
  await pool.end();
  return {
    "": `${count.toLocaleString("en")} ended jobs`,
    removed: all,
    seconds,
    "RSS, MB": megabytes(Math.max(...memory.map(({ most }) => most))),
    "RSS grew, MB": megabytes(Math.max(...memory.map(({ first, most }) => most - first))),
    "longest lock wait, ms": lockMs,
    "enqueued beside it": jobs,
    "slowest enqueue, ms": slowestMs,
    wrong: Math.abs(kept - (count - all)),
  };
}

async function fillDay(ask, daysAgo, count) {
  const [{ part, day }] = await ask(
    "select 'job_history_' || to_char(d, 'YYYYMMDD') as part, d::text as day from (select (now() at time zone 'UTC')::date - $1::integer as d) x",
    [daysAgo],
  );
  await ask(
    `create table fairmill.${part} partition of fairmill.job_history for values from ('${day} 00:00+00') to ('${day} 24:00+00')`,
  );
  await ask(
    `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, started_at, ended_at, payload, result, worker)
     select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, case when n % 4 = 0 then 'dead' else 'done' end, 'default', 'tenant-' || n % 100, 'old', t.at, t.at, t.at,
       jsonb_build_object('user', n, 'text', repeat('x', 100)), '{"ok": true}', 'worker-1'
     from generate_series(1, $2::integer) n cross join lateral (select ($1 || ' 00:00+00')::timestamptz + n * interval '80 milliseconds' as at) t`,
    [day, count],
  );
}

async function enqueueAndSettle(client, signal) {
  let [jobs, slowestMs] = [0, 0];
  while (!signal.aborted) {
    const begun = performance.now();
    await client.enqueue(beside, {});
    slowestMs = Math.max(slowestMs, performance.now() - begun);
    jobs++;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { jobs, slowestMs };
}

async function watchLocks(ask, signal) {
  let longest = 0;
  while (!signal.aborted) {
    const [{ ms }] = await ask(
      "select coalesce(max(extract(epoch from clock_timestamp() - waitstart) * 1000), 0)::float8 as ms from pg_locks where not granted",
    );
    longest = Math.max(longest, ms);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return longest;
}

async function ofFiles(bench) {
  const count = bench.size(100_000);
  const path = await mkdtemp(join(tmpdir(), "fairmill-retention-"));
  try {
    bench.say(`${count.toLocaleString("en")} files`);
    const { defineStorage, folderStorage } = await import("../../dist/storage/index.js");
    const storage = defineStorage({ name: "files", driver: folderStorage({ path }) });
    for (let n = 0; n < count; n += 50)
      await Promise.all(
        Array.from({ length: Math.min(50, count - n) }, (_, i) => {
          const no = String(n + i).padStart(6, "0");
          return storage.put(`${(n + i) % 2 === 0 ? "old" : "new"}/${no.slice(0, 3)}/${no}.txt`, "x");
        }),
      );
    const begun = performance.now();
    const first = await sweepIn(bench, path, undefined, count / 6);
    bench.say("sweep killed, and another goes on behind its cursor");
    const second = await sweepIn(bench, path, first.cursor, Number.POSITIVE_INFINITY);
    const seconds = (performance.now() - begun) / 1000;
    let [kept, wrong] = [0, 0];
    for (let after; ; ) {
      const page = await storage.list({ limit: 1_000, ...(after !== undefined && { after }) });
      kept += page.length;
      wrong += page.filter(({ key }) => key.startsWith("old/")).length;
      after = page.at(-1)?.key;
      if (page.length < 1_000) break;
    }
    return {
      "": `${count.toLocaleString("en")} files`,
      removed: count - kept,
      seconds,
      "RSS, MB": megabytes(Math.max(first.most, second.most)),
      "RSS grew, MB": megabytes(Math.max(first.most - first.first, second.most - second.first)),
      "longest lock wait, ms": 0,
      "enqueued beside it": 0,
      "slowest enqueue, ms": 0,
      wrong: wrong + Math.abs(kept - count / 2),
    };
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

/** Sweeps in a process of its own, which is killed when it has removed so many. */
function sweepIn(bench, path, after, removedMax) {
  const seen = { first: 0, most: 0, cursor: after };
  const child = start(bench, ["files", path, ...(after === undefined ? [] : [after])]);
  return new Promise((resolve) => {
    child.on("message", ({ rss, removed, cursor }) => {
      seen.first ||= rss;
      seen.most = Math.max(seen.most, rss);
      seen.cursor = cursor ?? seen.cursor;
      if (removed >= removedMax) child.kill("SIGKILL");
    });
    child.once("exit", () => resolve(seen));
  });
}

function start(bench, args) {
  const child = fork(PROCESS, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  bench.children.add(child);
  child.once("exit", () => bench.children.delete(child));
  return child;
}
