// The sticker bot with 10, 100 and 1,000 users who ask at the same moment, on simulated services: waits, fair shares, and what was the bottleneck.
import { createJiti } from "jiti";
import { median, quantile } from "../statistics.mjs";

const SIZES = [10, 100, 1_000];
/** The bot makes its tables itself. */
const BARE = { name: "stickers", adapter: { setup: async () => {} } };
const BIG = "memes";

export async function measure(bench) {
  const jiti = createJiti(import.meta.url, { fsCache: false, interopDefault: false });
  const { runCrowd } = await jiti.import("../../examples/stickers/crowd/run-crowd.ts");
  const samples = [];
  for (const size of SIZES) {
    const users = bench.quick ? Math.max(10, size / 10) : size;
    bench.say(`${users} users ask`);
    const crowd = await bench.server.withDatabase(BARE, {}, ({ url }) =>
      runCrowd({ databaseUrl: url, users, signal: bench.signal }),
    );
    samples.push({ users, ...crowd });
  }
  const rows = samples.map(rowOf);
  return {
    tables: [{ title: "Users at once", about: ABOUT, rows }],
    problems: samples.flatMap(problemsOf),
    samples: samples.map(({ answered, ...rest }) => ({ ...rest, waits: waitsOf(answered) })),
  };
}

const ABOUT =
  "Seven of ten users are of one community, the others of three small ones. Waits are from the request to the sticker in the chat, in seconds. The share is that of the small communities among the stickers that were begun while all four had requests waiting: equal turns are 75 %.";

const seconds = (value) => (value === undefined ? "–" : value.toFixed(1));

function rowOf({ users, answered, usage, seconds: all, left }) {
  const { every, small, big } = waitsOf(answered);
  const fullest = bottleneck(usage);
  return {
    users: users.toLocaleString("en"),
    "wait p50": seconds(every.p50),
    "wait p95": seconds(every.p95),
    "small communities p95": seconds(small.p95),
    "large community p95": seconds(big.p95),
    "share of the small": `${Math.round(100 * smallShare(answered))} %`,
    "all served after": seconds(all),
    bottleneck: `${fullest.name} (${Math.round(100 * fullest.used)} %)`,
    left,
  };
}

function waitsOf(answered) {
  const of = (chosen) => {
    const waits = chosen.map(({ arrivedAfter }) => arrivedAfter);
    return { p50: waits.length > 0 ? median(waits) : undefined, p95: quantile(waits, 0.95) };
  };
  const isBig = ({ community }) => community === BIG;
  return { every: of(answered), small: of(answered.filter((one) => !isBig(one))), big: of(answered.filter(isBig)) };
}

/** Of the requests that were begun before the first community had none left. */
function smallShare(answered) {
  const begun = answered.toSorted((a, b) => a.begunAfter - b.begunAfter);
  const lastOf = new Map(begun.map(({ community }, n) => [community, n]));
  const whileAll = begun.slice(0, Math.min(...lastOf.values()) + 1);
  return whileAll.filter(({ community }) => community !== BIG).length / whileAll.length;
}

export const bottleneck = (usage) => usage.reduce((fullest, row) => (row.used > fullest.used ? row : fullest));

/** What the page says must be true. */
function problemsOf({ users, answered }) {
  const share = smallShare(answered);
  return users >= 100 && share < 0.6
    ? [`${users} users: the small communities had ${Math.round(100 * share)} % of the turns, not about 75 %`]
    : [];
}
