// Jobs that wait, in worker processes: one worker each.
import { createWorker } from "../../../dist/index.js";
import config from "./config.mjs";

export async function startWorker({ url }) {
  const worker = createWorker({ databaseUrl: url, ...config });
  await worker.start();
  return { stop: () => worker.stop() };
}
