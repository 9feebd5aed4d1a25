// What a tenant at its cap costs the others: blocks of the cache per claimed job, with and without its mountain of waiting jobs.
// For comparison the same mountain in a queue that no worker serves: what a larger index costs, whichever tenant its jobs belong to.
import { drain, fill } from "../../fill-and-drain.mjs";
import { median } from "../../statistics.mjs";
import { limited } from "../../systems.mjs";
import { takeTurns } from "../../turns.mjs";

const OTHERS = 100;
const SETTINGS = {
  concurrency: 100,
  prefetch: 100,
  limits: { tenants: { count: 1, settings: { maxRunning: 1 } } },
};
const BLOCKS = `
  select coalesce(sum(s.shared_blks_hit + s.shared_blks_read), 0)::float8 as blocks
  from pg_stat_statements s join pg_database d on d.oid = s.dbid
  where d.datname = $1 and s.query like '%claim_lanes_v1%'`;
const ALL_BLOCKS = "select (blks_hit + blks_read)::float8 as blocks from pg_stat_database where datname = $1";
/** Another worker runs the one job of t0 that may run. */
const HOLD = `
  select fairmill.register_v1('holder', '{default}', '1 hour');
  select count(*) from fairmill.claim_lanes_v1('holder', '{default}', '{0}', '{t0}', '{0}', '{1}', null, 1);`;
const ELSEWHERE = `
  select count(*)
  from generate_series(1, $1::integer) n, fairmill.enqueue_v1('noop', jsonb_build_object('n', n), 't0', 'unserved')`;

export async function measure(bench) {
  const jobs = bench.size(20_000);
  const many = bench.size(100_000);
  const contestants = [
    { label: "nothing of it waits", mountain: 1, elsewhere: 0 },
    { label: `${many.toLocaleString("en")} jobs of it wait`, mountain: many, elsewhere: 0 },
    { label: `${many.toLocaleString("en")} jobs of a queue that no worker serves wait`, mountain: 1, elsewhere: many },
  ];
  const samples = await takeTurns(bench, contestants, ({ mountain, elsewhere }) =>
    bench.server.withDatabase(limited, SETTINGS, async (database) => {
      await database.connected((client) => client.query(ELSEWHERE, [elsewhere]));
      const tenantOf = (n) => (n < mountain ? 0 : 1 + (n % OTHERS));
      await fill(limited, database, SETTINGS, mountain + jobs, tenantOf);
      await database.connected((client) => client.query(HOLD));
      const blocks = async (query) => (await bench.server.query(query, [database.name])).rows[0].blocks;
      const before = await blocks(ALL_BLOCKS);
      const claimed = bench.server.hasStatements ? await blocks(BLOCKS) : Number.NaN;
      const { record, ...figures } = await drain(bench, {
        system: limited,
        database,
        settings: SETTINGS,
        queued: mountain + jobs,
        upto: jobs,
      });
      return {
        ...figures,
        claimBlocksPerJob: bench.server.hasStatements ? ((await blocks(BLOCKS)) - claimed) / jobs : Number.NaN,
        blocksPerJob: ((await blocks(ALL_BLOCKS)) - before) / jobs,
      };
    }),
  );
  const middle = (i, name) => median(samples[i].map((sample) => sample[name]));
  return {
    table: {
      title: "Limits: a tenant at its cap",
      about: `${jobs.toLocaleString("en")} jobs of ${OTHERS} other tenants, one worker process, concurrency 100, prefetch 100. Blocks are those of PostgreSQL's cache that were looked at, per job of the others.`,
      rows: contestants.map(({ label }, i) => ({
        "the tenant at its cap": label,
        "blocks/job, claims": middle(i, "claimBlocksPerJob"),
        "blocks/job, everything": middle(i, "blocksPerJob"),
        "ratio of claims": middle(i, "claimBlocksPerJob") / middle(0, "claimBlocksPerJob"),
        twice: samples[i].reduce((sum, sample) => sum + sample.twice, 0),
      })),
    },
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}
