// A worker whose jobs call a service outside, for `--only providers`.
import { createWorker, defineJob, defineProvider, handle, silentLogger } from "../dist/index.js";

const [databaseUrl, service, limits] = process.argv.slice(2);
const provider = defineProvider({ name: "service", limits: JSON.parse(limits) });
const worker = createWorker({
  databaseUrl,
  handlers: [
    handle(defineJob({ kind: "call", needs: [provider] }), (ctx) =>
      ctx.call(provider, async ({ signal, check }) => check(await fetch(service, { signal })).text()),
    ),
  ],
  concurrency: 10,
  logger: silentLogger,
  alerts: false,
});
process.on("disconnect", () => process.exit(0));
process.on("message", async () => {
  await worker.stop({ grace: "5s" });
  process.exit(0);
});
await worker.start();
process.send("started");
