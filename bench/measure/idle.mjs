// What workers cost the database while there is nothing to do.
import { Fleet } from "../fleet.mjs";
import { now, sleep } from "../statistics.mjs";
import { fairmill } from "../systems.mjs";

const WORKERS = 4;
/** Promised is one a second, of all of them together. Transactions are counted where statements cannot be: begin and commit are in both. */
const PER_SECOND_MAX = 1.1;
/** After the start workers find out about the database, and the first round of alerts, after 15 s, stores its rules. Connections hand in their count of transactions late, at the latest after 10 s without work; statements count at once. */
const SETTLE_MS = { statements: 18_000, transactions: 11_000 };

export async function measure(bench) {
  const { seconds, perSecond, statements } = await idleFor(bench, fairmill, {});
  const row = {
    "": `${WORKERS} worker processes, default settings`,
    seconds,
    [statements ? "statements/s" : "transactions/s"]: perSecond,
  };
  const tables = [{ title: "Idle", about: "Nothing is queued.", rows: [row] }];
  if (statements)
    tables.push({
      title: "Idle, by statement",
      rows: statements.map((one) => ({ statement: `\`${one.text}\``, "per second": one.perSecond })),
    });
  const problems =
    perSecond <= PER_SECOND_MAX
      ? []
      : [`not idle: ${perSecond.toFixed(2)} a second by ${WORKERS} workers without work`];
  return { tables, problems };
}

/** Watches idle workers: statements per second, or transactions where PostgreSQL counts no statements, or commands of Redis. */
export function idleFor(bench, system, settings, isSlow = true) {
  // Fairmill's longest period is a minute: a shorter window counts what happens to fall into it. The others poll every few seconds.
  const windowMs = isSlow ? (bench.quick ? 30_000 : 60_000) : 20_000;
  const settleMs = isSlow ? SETTLE_MS.statements : 3_000;
  return bench.server.withDatabase(system, settings, async (database) => {
    const options = { system, url: database.url, settings, jobs: 0, processes: WORKERS };
    const fleet = await Fleet.start(bench, options);
    await sleep(bench.server.hasStatements ? settleMs : SETTLE_MS.transactions);
    bench.say(`watching ${WORKERS} idle workers for ${windowMs / 1000} s`);
    const before = { ...(await database.countersNow()), statements: await database.statements(), atMs: now() };
    await sleep(windowMs);
    const after = { ...(await database.countersNow()), statements: await database.statements(), atMs: now() };
    await fleet.stop();
    const seconds = (after.atMs - before.atMs) / 1000;
    const statements = before.statements && countBetween(before.statements, after.statements, seconds);
    const perSecond = statements
      ? statements.reduce((sum, one) => sum + one.perSecond, 0)
      : (after.commits - before.commits) / seconds;
    return { seconds, perSecond, statements };
  });
}

function countBetween(before, after, seconds) {
  return [...after]
    .map(([text, calls]) => ({ text: shorten(text), perSecond: (calls - (before.get(text) ?? 0)) / seconds }))
    .filter(({ perSecond }) => perSecond > 0)
    .sort((a, b) => b.perSecond - a.perSecond);
}

/** One line, without the sign that ends a cell of a table. */
const shorten = (text) => text.replace(/\s+/g, " ").replaceAll("|", "¦").slice(0, 120);
