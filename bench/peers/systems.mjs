// The other queues, in the form of bench/systems.mjs. Loaded only after peers/ensure.mjs installed them.
import { hasRedis } from "./redis.mjs";

const NAMES = { "pg-boss": "pg-boss", "graphile-worker": "graphile-worker", bullmq: "BullMQ on Redis" };

/** The systems that can run here, and a sentence for each that cannot. */
export async function loadPeers() {
  const missing = [];
  const systems = [];
  for (const [file, name] of Object.entries(NAMES)) {
    const href = new URL(`${file}.mjs`, import.meta.url).href;
    const adapter = await import(href);
    if (adapter.store === "redis" && !hasRedis())
      missing.push(`${name} is left out: there is no redis-server on the PATH. Install Redis to measure it.`);
    else systems.push({ name, adapter, file: href });
  }
  return { systems, missing };
}
