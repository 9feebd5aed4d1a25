// A process that removes what is old, for `--only retention`: a worker whose upkeep walks along the history, or a sweep along files. Tells how much
// memory it has, and where the sweep is; the benchmark kills it in the middle.
import { createWorker, defineJob, handle, silentLogger } from "../dist/index.js";
import { defineStorage, folderStorage, sweepStorage } from "../dist/storage/index.js";

const [what, where, after] = process.argv.slice(2);
const tell = (facts) => process.send({ rss: process.memoryUsage.rss(), ...facts });

if (what === "history") {
  const worker = createWorker({
    databaseUrl: where,
    handlers: [handle(defineJob({ kind: "beside" }), () => {})],
    logger: silentLogger,
    alerts: false,
  });
  await worker.start();
  setInterval(() => tell({}), 100);
} else {
  const storage = defineStorage({ name: "files", driver: folderStorage({ path: where }) });
  const done = await sweepStorage({
    storage,
    rules: [{ prefix: "old/", olderThan: 0 }],
    ...(after !== undefined && { after }),
    onProgress: ({ removed, cursor }) => tell({ removed, cursor }),
  });
  tell({ done });
  process.disconnect();
}
