// A real worker process for tests. Told by its parent (IPC) what to be; tells what happens. Handlers of the kinds that tests use.
import { createWorker, defineJob, handle, silentLogger, snooze } from "fairmill";

const settings = JSON.parse(process.env.TEST_WORKER);
const say = (message) => process.connected && process.send(message);

const handlers = {
  /** Ends at once. */
  quick: handle(defineJob({ kind: "quick" }), () => undefined),
  /** Takes the milliseconds that its input says. */
  slow: handle(
    defineJob({ kind: "slow" }),
    (ctx) => new Promise((resolve) => setTimeout(() => resolve({ by: process.pid }), ctx.input.ms)),
  ),
  /** Tells that it runs, then waits for the parent's word. */
  held: handle(defineJob({ kind: "held" }), async (ctx) => {
    say({ held: ctx.id, attempt: ctx.attempt });
    await new Promise((resolve) => process.on("message", (message) => message === "let go" && resolve()));
    return { by: process.pid };
  }),
  /** Kills its own process. */
  poison: handle(defineJob({ kind: "poison" }), () => process.kill(process.pid, "SIGKILL")),
  /** Blocks the event loop for the milliseconds that its input says. */
  blocking: handle(defineJob({ kind: "blocking" }), (ctx) => {
    say({ held: ctx.id, attempt: ctx.attempt });
    const end = performance.now() + ctx.input.ms;
    while (performance.now() < end);
    return { by: process.pid };
  }),
  /** As slow, with the limits that the parent says; its key is the user in its input. */
  limited: handle(
    defineJob({ kind: "limited", key: (input) => input.user, limits: settings.limits }),
    (ctx) => new Promise((resolve) => setTimeout(() => resolve({ by: process.pid }), ctx.input.ms)),
  ),
  dozing: handle(defineJob({ kind: "dozing" }), () => snooze("1h")),
};

const worker = createWorker({
  databaseUrl: settings.url,
  handlers: settings.kinds.map((kind) => handlers[kind]),
  logger: silentLogger,
  ...settings.options,
});
worker.events.on("refused", ({ ids }) => say({ refused: ids }));
worker.events.on("lost", () => say({ lost: true }));
worker.events.on("trouble", ({ doing, error }) => say({ trouble: doing, message: String(error?.message) }));
process.on("unhandledRejection", (error) => {
  say({ unhandled: String(error?.stack ?? error) });
});
process.on("message", async (message) => {
  if (message !== "stop") return;
  await worker.stop();
  process.disconnect();
});
// Whoever started us is gone: nobody else would end us.
process.on("disconnect", () => process.exit());
await worker.start();
say({ started: worker.id });
