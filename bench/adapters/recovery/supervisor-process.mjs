// A supervisor in a process of its own, so that it can be killed.
//   parent → child   { url, children, places, lease }
//   child → parent   { pids } when all children are ready
import { createSupervisor } from "../../../dist/index.js";

const isReady = ({ state }) => state === "ready" || state === "working";

process.once("message", async ({ url, children, places, lease }) => {
  process.env.BENCH_URL = url;
  process.env.BENCH_PLACES = String(places);
  const supervisor = createSupervisor({
    module: new URL("./config.mjs", import.meta.url),
    databaseUrl: url,
    lease,
    worker: { minInstances: children, maxInstances: children },
  });
  await supervisor.start();
  while (supervisor.children().filter(isReady).length < children) await new Promise((done) => setTimeout(done, 10));
  process.send({ pids: supervisor.children().map(({ pid }) => pid) });
});
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(1));
