// Jobs that wait, in ticks: each process calls one after the other, so that as many overlap as there are processes.
import { createTickHandler } from "../../../dist/index.js";
import config from "./config.mjs";

export async function startWorker({ url }) {
  const handler = createTickHandler({ databaseUrl: url, ...config, secret: "x".repeat(32) });
  let isStopping = false;
  const ticks = (async () => {
    while (!isStopping) await handler.tick();
  })();
  return {
    stop: async () => {
      isStopping = true;
      await ticks;
      await handler.close();
    },
  };
}
