// One of the four: a worker, a supervisor with two children, or ticks one after the other. Says when it has started, and which children it has.
import { createSupervisor, createTickHandler, createWorker } from "fairmill";
import config from "./config.mjs";

const { role, leaseMs } = JSON.parse(process.env.CHAOS_ACTOR);
const say = (message) => process.connected && process.send(message);
/** A job that was beside many faults is not poison here. */
const innocent = { crashesMax: 1_000 };
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const START = {
  worker: async () => {
    const worker = createWorker({ ...config, ...innocent, lease: leaseMs });
    await worker.start();
    return () => worker.stop();
  },
  supervisor: async () => {
    const supervisor = createSupervisor({
      module: new URL("./supervised.mjs", import.meta.url),
      lease: leaseMs,
      worker: { minInstances: 2, maxInstances: 2, maxConsecutiveFailures: 1_000, hangTimeout: 4 * leaseMs },
    });
    const tell = () => say({ children: supervisor.children().flatMap(({ pid }) => pid ?? []) });
    supervisor.events.on("child", tell);
    await supervisor.start();
    tell();
    return () => supervisor.stop();
  },
  ticks: async () => {
    const handler = createTickHandler({ ...config, ...innocent, secret: "x".repeat(32), budget: "5s", grace: "1s" });
    let isStopping = false;
    const ticks = (async () => {
      while (!isStopping) {
        const report = await handler.tick().catch(() => undefined);
        // As a cron would: no tick follows one that found nothing at once.
        if (!report?.claimed) await later(100);
      }
    })();
    return async () => {
      isStopping = true;
      await ticks;
      await handler.close();
    };
  },
};

process.on("unhandledRejection", (error) => say({ unhandled: String(error?.stack ?? error) }));
process.on("disconnect", () => process.exit(1));
let stop;
process.on("message", async (message) => {
  if (message !== "stop") return;
  await stop?.();
  process.exit(0);
});
for (;;) {
  try {
    stop = await START[role]();
    break;
  } catch (error) {
    // The database may be away just now. A schema that does not fit stays: the SQL of this tree was changed while the programme ran.
    if (/^FAIRMILL_(NOT_MIGRATED|LIBRARY_OUTDATED)$/.test(error?.code)) say({ refused: `${role}: ${error.message}` });
    await later(100);
  }
}
say({ started: true });
