// HS3 through a supervisor: jobs that wait 50 ms, ten at once in each child, with 1, 2 and 4 children. Prints jobs a second, and how many times those of
// one child that is. `DATABASE_URL=postgres://… node bench/pool.mjs [jobs]`, on a database that was migrated and that nothing else works on.
import { createClient, createSupervisor } from "fairmill";
import { waiting } from "./pool-handlers.mjs";

const CHILDREN = [1, 2, 4];

async function measure(children, jobs) {
  const client = createClient({});
  await client.enqueueMany(
    waiting,
    Array.from({ length: jobs }, () => ({ input: {} })),
  );
  await client.close();
  const supervisor = createSupervisor({
    module: new URL("./pool-handlers.mjs", import.meta.url),
    worker: { minInstances: children, maxInstances: children },
  });
  let done = 0;
  let end = () => {};
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  await supervisor.start();
  supervisor.worker.events.on("settled", ({ ids }) => {
    done += ids.length;
  });
  while (supervisor.children().filter(({ state }) => state === "ready" || state === "working").length < children)
    await new Promise((resolve) => setTimeout(resolve, 10));
  // What the first children did while the others started does not count, and neither does the end, when some have nothing to do.
  const startMs = performance.now();
  const before = done;
  const enough = before + Math.floor((jobs - before) * 0.8);
  supervisor.worker.events.on("settled", () => {
    if (done >= enough) end();
  });
  await ended;
  const perSecond = ((done - before) * 1_000) / (performance.now() - startMs);
  // The rest, so that the next round begins with an empty queue.
  await new Promise((resolve) => {
    supervisor.worker.events.on("idle", resolve);
  });
  await supervisor.stop();
  return perSecond;
}

const jobs = Number(process.argv[2] ?? 4_000);
let one;
for (const children of CHILDREN) {
  const perSecond = await measure(children, jobs);
  one ??= perSecond;
  console.log(`${children} children: ${perSecond.toFixed(0)} jobs/s, ${(perSecond / one).toFixed(2)} times one`);
}
