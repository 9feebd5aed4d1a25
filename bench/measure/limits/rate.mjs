// Does a rate hold, and how much of it is used? Eight worker processes, one minute, by the starts that the database wrote down.
import { fill } from "../../fill-and-drain.mjs";
import { Fleet } from "../../fleet.mjs";
import { limited } from "../../systems.mjs";

const RATE = { limit: 100, per: "1s" };
const PROCESSES = 8;
const STARTS = "select (extract(epoch from started_at) * 1000000)::float8 as us from fairmill.job_history order by 1";

export async function measure(bench) {
  const seconds = bench.size(60);
  const scopes = [
    { label: "of a tenant", limits: { tenants: { count: 1, settings: { rate: RATE } } } },
    { label: "of a key", limits: { keys: { limits: { rate: RATE }, count: 1 } } },
  ];
  const problems = [];
  const rows = [];
  for (const { label, limits } of scopes) {
    bench.say(`a rate ${label}, ${seconds} s`);
    const { used, worst } = await run(bench, { limits }, seconds);
    if (worst > RATE.limit) problems.push(`A rate ${label}: a sliding second held ${worst} starts.`);
    rows.push({ rate: label, seconds, "used of what is allowed": used, "most in a sliding second": worst });
  }
  return {
    problems,
    table: {
      title: "Limits: window",
      about: `At most ${RATE.limit} starts in every sliding second, ${PROCESSES} worker processes with default settings, jobs always waiting. Counted from the first start.`,
      rows,
    },
    samples: rows,
  };
}

function run(bench, settings, seconds) {
  const queued = RATE.limit * (seconds + 5);
  return bench.server.withDatabase(limited, settings, async (database) => {
    await fill(limited, database, settings, queued);
    const fleet = await Fleet.start(bench, {
      system: limited,
      url: database.url,
      settings,
      jobs: queued,
      processes: PROCESSES,
    });
    // A few more than the time can hold, so that it has passed.
    await fleet.reach(RATE.limit * (seconds + 2), (seconds + 60) * 2_000);
    await fleet.stop();
    const { rows } = await database.connected((client) => client.query(STARTS));
    const starts = rows.map(({ us }) => us);
    const inTime = starts.filter((us) => us < starts[0] + seconds * 1e6).length;
    return { used: inTime / (RATE.limit * seconds), worst: mostInSecond(starts) };
  });
}

/** Of sorted microseconds, the most that lie within less than a second. */
function mostInSecond(starts) {
  let most = 0;
  for (let from = 0, to = 0; to < starts.length; to++) {
    while (starts[to] - starts[from] >= 1e6) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
