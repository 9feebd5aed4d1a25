// Ten million waiting jobs of 100,000 tenants under three nested caps: does a claim, the worker's memory or the upkeep grow with them?
import { drain, fill, mistakes } from "../fill-and-drain.mjs";
import { limited } from "../systems.mjs";

const TAKEN = 20_000;
const MANY = 100_000;
const JOBS_PER_TENANT = 100;
const SETTINGS = { concurrency: 500, prefetch: 500 };
/** No figure may grow by more than this. */
const GROWTH_MAX = 1.25;

/** Wide enough to hold no job back, so that what is measured is the price of checking them. */
const CAPS = `
  select fairmill.set_limits_v1('queue', 'default', '{"max_running": 100000}'), fairmill.set_limits_v1('kind', 'noop', '{"max_running": 90000}');
  select count(fairmill.set_limits_v1('tenant', 't' || n, '{"max_running": 1000}')) from generate_series(0, TENANTS - 1) n`;
const SPENT = `
  select coalesce(sum(s.total_exec_time), 0)::float8 as ms, coalesce(sum(s.shared_blks_hit + s.shared_blks_read), 0)::float8 as blocks,
    coalesce(max(s.max_exec_time), 0)::float8 as "longestMs"
  from pg_stat_statements s join pg_database d on d.oid = s.dbid
  where d.datname = $1 and s.query like $2`;

export async function measure(bench) {
  if (!bench.server.hasStatements)
    return { problems: ["vast: needs pg_stat_statements, which this PostgreSQL does not have"] };
  const taken = bench.size(TAKEN);
  const few = await take(bench, { tenants: taken / JOBS_PER_TENANT, waiting: taken, taken });
  // A claim visits as many tenants as it has jobs here, as it does among 100,000: what is left is the price of the number that waits.
  const wide = await take(bench, { tenants: taken, waiting: taken, taken });
  const many = await take(bench, { tenants: bench.size(MANY), waiting: bench.size(MANY) * JOBS_PER_TENANT, taken });
  const growth = many.claimBlocks / wide.claimBlocks;
  return {
    tables: [
      {
        title: "Ten million waiting",
        about: `Under a cap of the tenant, of the queue and of the kind, a new worker process takes ${taken.toLocaleString("en")} jobs. A claim visits each tenant for one job when so many wait, which costs more than 100 jobs of one; the second line has that in common with the third.`,
        rows: [few, wide, many].map((sample) => ({
          "jobs waiting": sample.waiting,
          tenants: sample.tenants,
          "finding lanes, ms": sample.lanesMs,
          "claim, µs/job": sample.claimMicros,
          "claim, blocks/job": sample.claimBlocks,
          "longest upkeep, ms": sample.upkeepLongestMs,
          "worker, MB": sample.workerMegabytes,
          ...mistakes([sample]),
        })),
      },
    ],
    problems:
      growth > GROWTH_MAX
        ? [
            `vast: a claim among ten million touches ${growth.toFixed(2)} times the blocks; at most ${GROWTH_MAX} is promised`,
          ]
        : [],
    samples: [few, wide, many],
  };
}

function take(bench, { tenants, waiting, taken }) {
  return bench.server.withDatabase(limited, SETTINGS, async (database) => {
    bench.say(`filling a queue with ${waiting.toLocaleString("en")} jobs of ${tenants.toLocaleString("en")} tenants`);
    await fill(limited, database, SETTINGS, waiting, (n) => n % tenants);
    await database.connected((client) => client.query(CAPS.replace("TENANTS", String(tenants))));
    await database.rest();
    const spent = async (pattern) => (await bench.server.query(SPENT, [database.name, pattern])).rows[0];
    const { record, twice } = await drain(bench, {
      system: limited,
      database,
      settings: SETTINGS,
      queued: waiting,
      upto: taken,
    });
    const [claims, lanes, upkeep] = [
      await spent("%claim_lanes_v1%"),
      await spent("%.lanes_v1%"),
      await spent("%upkeep%"),
    ];
    const ran = record.times.length;
    return {
      waiting,
      tenants,
      lanesMs: lanes.ms,
      claimMicros: (claims.ms * 1000) / ran,
      claimBlocks: claims.blocks / ran,
      upkeepLongestMs: upkeep.longestMs,
      // Ten million start times are the benchmark's own, eight bytes each.
      workerMegabytes: (Math.max(...record.memory.map(({ rssBytes }) => rssBytes)) - waiting * 8) / 2 ** 20,
      lost: Math.max(0, taken - ran),
      twice,
      left: 0,
    };
  });
}
