// The fault programme from beginning to end.
//
//  1. A PostgreSQL of its own, durable; tables, a witness in them, a receiver, four workers.
//  2. Load at a steady rate, faults by dice, looks at the database: until the time is over.
//  3. No more faults and no more load: everything must end. Then everything is checked.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "../dist/embedded/index.js";
import { Actors } from "./actors.mjs";
import { check } from "./check.mjs";
import { dice, sleep } from "./dice.mjs";
import { Faults } from "./faults.mjs";
import { Load } from "./load.mjs";
import { Observer } from "./observer.mjs";
import { startReceiver } from "./receiver.mjs";
import { WITNESS } from "./witness.mjs";

const LEASE_MS = 1_000;
/** When there are no faults any more, so long no job may end although some are left: far longer than any lease. A slow machine takes its time. */
const STILL_MS_MAX = 120_000;

/**
 * @param {{ seconds: number, seed: number, faults: string[], jobsPerSecond: number, say?: (text: string) => void, sabotage?: string, signal?: AbortSignal }} options
 *   `sabotage` is SQL that breaks a guard before the programme begins: for tests that show that it is noticed.
 */
export async function runProgramme({ seconds, seed, faults: names, jobsPerSecond, say = () => {}, sabotage, signal }) {
  const folder = await mkdtemp(join(tmpdir(), "fairmill-chaos-"));
  await chmod(folder, 0o711);
  const ends = [() => rm(folder, { recursive: true, force: true })];
  try {
    say("starting PostgreSQL");
    const server = await startEmbedded({ dataDir: join(folder, "postgres"), durable: true });
    ends.push(() => server.stop("immediate"));
    const databaseUrl = server.url;
    const load = new Load({ databaseUrl, random: dice(seed), jobsPerSecond });
    ends.push(() => load.close());
    const observer = new Observer(databaseUrl);
    ends.push(() => observer.close());
    await load.prepare();
    await observer.query(WITNESS);
    if (sabotage !== undefined) await observer.query(sabotage);
    const receiver = await startReceiver(dice(seed + 1));
    ends.push(() => receiver.close());
    const actors = new Actors({ databaseUrl, receiverUrl: receiver.url, leaseMs: LEASE_MS });
    ends.push(() => actors.kill());
    await actors.start();
    say("four workers have started");

    const faults = new Faults(names, { actors, observer, server, random: dice(seed + 2), leaseMs: LEASE_MS });
    await runFor(seconds, signal, (over) => [load.run(over), faults.run(over), observer.run(over)]);
    say(`the time is over; ${load.acknowledged.size} jobs were acknowledged, ${describe(faults.counts)}`);
    signal?.throwIfAborted();
    const left = await drain(observer, signal);
    await actors.stop();
    say("checking");
    const { figures, problems } = await check({
      databaseUrl,
      observer,
      load,
      receiver,
      actors,
      perSecond: jobsPerSecond,
      isCalm: names.length === 0,
    });
    if (left > 0) problems.unshift(`P9: ${left} jobs were left when none had ended for ${STILL_MS_MAX / 1000} s`);
    return { figures: { ...figures, faults: faults.counts }, problems };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

async function runFor(seconds, signal, begin) {
  const over = new AbortController();
  const stop = () => over.abort();
  signal?.addEventListener("abort", stop, { once: true });
  const running = Promise.all(begin(over.signal));
  // A part that fails ends all: without it the rest says nothing.
  await Promise.race([sleep(seconds * 1_000, over.signal), running.catch(() => {})]);
  stop();
  await running;
}

/** Resolves with the number of jobs that are still live. */
async function drain(observer, signal) {
  let [ended, sinceMs] = [-1, performance.now()];
  for (;;) {
    const [row] =
      (await observer.ask(`select (select count(*)::integer from fairmill.job) as live,
        (select count(*)::integer from fairmill.job_history) as ended`)) ?? [];
    if (row !== undefined && row.ended > ended) [ended, sinceMs] = [row.ended, performance.now()];
    if (row?.live === 0 || performance.now() > sinceMs + STILL_MS_MAX) return row?.live ?? Number.POSITIVE_INFINITY;
    signal?.throwIfAborted();
    await sleep(100, signal);
  }
}

const describe = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ") || "no faults";
