// How much of a provider's allowance does a fleet use, and does the provider ever see more? Eight worker processes with a backlog; counted by the provider, an HTTP server in a process
// of its own. Fails when it sees more than is allowed, or when less than 95 % is used.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createClient, defineJob } from "../../dist/index.js";
import { fairmill } from "../systems.mjs";

const PROCESSES = 8;
const LIMITS = { perSecond: 20, inFlight: 5 };
const LATENCY_MS = 40;
const USED_MIN = 0.95;
const call = defineJob({ kind: "call" });
const script = (name) => fileURLToPath(new URL(`../${name}.mjs`, import.meta.url));

export async function measure(bench) {
  const seconds = bench.size(60);
  bench.say(
    `${LIMITS.perSecond} calls a second and ${LIMITS.inFlight} in flight, ${PROCESSES} processes, ${seconds} s`,
  );
  const arrivals = await bench.server.withDatabase(fairmill, fairmill.adapter.modes.drain, ({ url }) =>
    run(bench, url, LIMITS.perSecond * (seconds + 5)),
  );
  // From the end of the first second, when all have started, to where the backlog ends.
  const times = arrivals.map(({ at }) => at);
  const from = times[0] + 1_000;
  const used = times.filter((at) => at >= from && at < from + seconds * 1_000).length / (LIMITS.perSecond * seconds);
  const most = mostInSecond(times);
  const inFlight = Math.max(...arrivals.map(({ running }) => running));
  return {
    tables: [
      {
        title: "Provider: allowance",
        about: `${PROCESSES} worker processes share ${LIMITS.perSecond} calls a second and ${LIMITS.inFlight} in flight; a call takes ${LATENCY_MS} ms, jobs always wait. Counted by the provider.`,
        rows: [
          { seconds, "used of what is allowed": used, "most in a sliding second": most, "most in flight": inFlight },
        ],
      },
    ],
    problems: [
      ...(most > LIMITS.perSecond ? [`A sliding second held ${most} calls.`] : []),
      ...(inFlight > LIMITS.inFlight ? [`${inFlight} calls were in flight.`] : []),
      ...(used < USED_MIN ? [`Only ${(100 * used).toFixed(1)} % of the allowance was used.`] : []),
    ],
    samples: [{ used, most, inFlight }],
  };
}

async function run(bench, url, jobs) {
  const service = start(bench, "provider-service", [String(LATENCY_MS)]);
  const address = `http://127.0.0.1:${(await told(service)).port}`;
  const client = createClient({ databaseUrl: url });
  try {
    await client.enqueueMany(
      call,
      Array.from({ length: jobs }, (_, n) => ({ input: { n } })),
    );
    const workers = Array.from({ length: PROCESSES }, () =>
      start(bench, "provider-process", [url, `${address}/call`, JSON.stringify(LIMITS)]),
    );
    await Promise.all(workers.map(told));
    const asked = async () => (await fetch(`${address}/log`)).json();
    for (;;) {
      const arrivals = await asked();
      if (arrivals.length >= jobs) {
        await Promise.all(workers.map((worker) => stopped(worker)));
        return arrivals;
      }
      bench.signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  } finally {
    await client.close();
    service.kill();
  }
}

function start(bench, name, args) {
  const child = fork(script(name), args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  bench.children.add(child);
  child.once("exit", () => bench.children.delete(child));
  return child;
}

const told = (child) =>
  new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`A process of the measurement ended with ${code}.`)));
  });

function stopped(child) {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.send("stop");
  return gone;
}

/** Of sorted milliseconds, the most that lie within less than a second. */
function mostInSecond(times) {
  let most = 0;
  for (let from = 0, to = 0; to < times.length; to++) {
    while (times[to] - times[from] >= 1_000) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
