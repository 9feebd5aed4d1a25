// One viewer and one scraper, as the dashboard and Prometheus behave: the stream of changes, what the first page shows whenever a topic of it moved, and
// the metrics every five seconds. It plays the browser: its own processor time is that of another machine.
import { sleep } from "./statistics.mjs";

const SCRAPE_MS = 5_000;
/** What the first page shows, by the topics whose news bring it again. */
const FIRST_PAGE = {
  jobs: ["now"],
  series: ["series?name=jobs.in&name=jobs.out&name=jobs.failed", "backlog", "time?by=kind"],
};

/** Begins to watch; what it returns ends it. */
export function watch(address) {
  const ending = new AbortController();
  const { signal } = ending;
  const restUntilMs = new Map();
  /** The longer an answer took, the longer it rests (dashboard/src/data/rest.ts). */
  const ask = async (path) => {
    const askedMs = performance.now();
    if (askedMs < (restUntilMs.get(path) ?? 0)) return;
    await read(`${address}/api/v1/${path}`, signal);
    const endedMs = performance.now();
    restUntilMs.set(path, endedMs + Math.max(1_900, 20 * (endedMs - askedMs)));
  };
  const listen = async () => {
    await Promise.all(Object.values(FIRST_PAGE).flat().map(ask));
    const response = await fetch(`${address}/api/v1/events`, { signal });
    for await (const chunk of response.body) {
      const text = Buffer.from(chunk).toString();
      const paths = Object.entries(FIRST_PAGE).flatMap(([topic, of]) => (text.includes(`"${topic}"`) ? of : []));
      await Promise.all(paths.map(ask));
    }
  };
  const scrape = async () => {
    while (!signal.aborted) {
      await read(`${address}/metrics`, signal);
      await sleep(SCRAPE_MS);
    }
  };
  const watching = [listen(), scrape()].map((one) =>
    one.catch((error) => {
      if (!signal.aborted) throw error;
    }),
  );
  for (const one of watching) one.catch(() => {});
  return async () => {
    ending.abort();
    await Promise.race([Promise.all(watching), sleep(SCRAPE_MS)]);
  };
}

async function read(url, signal) {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  await response.text();
}
