// Which test files `npm run test:fast` leaves out, and why. Paths below test, without `.test.ts`.
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { root } from "./ensure.mjs";

/** Why they take long, by their names. A file belongs to the first that fits. */
const REASONS = {
  "fleets of processes, crashes of PostgreSQL, long races": [
    ...[
      /fleet/,
      /-race$/,
      /(^|\/|-)mix$/,
      /crash/,
      /lost-claims/,
      /^credits\/race/,
      /^batches\/flow-graphs/,
      /^worker\/concurrency/,
    ],
    ...[
      /^limits\/(pause|shares|fairness|caps)$/,
      /^schedules\/worker/,
      /^ticks\/exit/,
      /^pool\/(border|crash|life|pools|scaling)/,
      /^stickers\//,
      /^chaos\//,
    ],
  ],
  "plans, costs, large tables, migrations under load": [
    ...[
      /migrate-busy/,
      /claim-cost/,
      /plans/,
      /large/,
      /^core\/upkeep\/history/,
      /^db\/(migrate|schema-name|isolation)$/,
    ],
    ...[/versions/, /schema-fit/, /doctor/, /^verify\//],
  ],
  "hostile values and failures at every door": [
    /database-failures/,
    /hostile/,
    /connections/,
    /pooler/,
    /idle/,
    /pg-cron/,
  ],
  "browsers, samples of the documents, commands, adapters, new projects": [
    ...[
      /^dashboard\//,
      /^docs\/(samples|declarations)/,
      /^embedded\/(binaries|create|data|lifetime|ordinary|start)/,
      /^cli\/(config|dev|host|migrate|people|redaction|start|supervise|work)/,
      /^adapters\//,
      /^init\//,
    ],
  ],
};

const OTHERS = "others";
/** They need the dashboard's build. */
const NEEDS_MORE = /^dashboard\//;
/** What takes long was measured: see test/support/longest.ts. */
const LONGEST = [...readFileSync(join(root, "test", "support", "longest.ts"), "utf8").matchAll(/^ {2}"(.+)",$/gm)].map(
  ([, path]) => path,
);

/** By reason, the files that are left out; and how many there are in all. */
export function slowTests() {
  const files = readdirSync(join(root, "test"), { recursive: true })
    .map((path) => path.split(sep).join("/"))
    .filter((path) => path.endsWith(".test.ts"));
  const reasonOf = (path) => {
    if (!LONGEST.includes(path) && !NEEDS_MORE.test(path)) return undefined;
    const name = path.slice(0, -".test.ts".length);
    return Object.keys(REASONS).find((reason) => REASONS[reason].some((pattern) => pattern.test(name))) ?? OTHERS;
  };
  const slow = Object.fromEntries([...Object.keys(REASONS), OTHERS].map((reason) => [reason, []]));
  for (const path of files) slow[reasonOf(path)]?.push(path);
  return { slow, total: files.length };
}
