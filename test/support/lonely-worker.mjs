// A worker with nothing beside it that would keep its process alive: no channel to a parent, no server, no timer of its own.
import { createWorker, defineJob, handle, silentLogger } from "fairmill";

const worker = createWorker({
  handlers: [handle(defineJob({ kind: "quick" }), () => undefined)],
  logger: silentLogger,
});
worker.events.on("trouble", () => process.stdout.write("trouble\n"));
process.once("SIGTERM", () => worker.stop());
await worker.start();
process.stdout.write("started\n");
