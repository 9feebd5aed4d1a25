// A real worker process whose jobs call simulated providers. Told by its parent (TEST_PROVIDERS) which; tells by messages what happens.
import { createWorker, defineJob, defineProvider, handle, silentLogger } from "fairmill";

const { url, simulator, providers: given, options, job } = JSON.parse(process.env.TEST_PROVIDERS);
const say = (message) => process.connected && process.send(message);

/** The last one first: each is the fallback of the one before it. */
const providers = [];
for (const one of given.toReversed()) {
  const [fallback] = providers;
  providers.unshift(defineProvider(fallback ? { ...one, fallback } : one));
}

const ask = async ({ signal, check, provider }, id) => {
  say({ calling: id, provider: provider.name });
  const answer = check(await fetch(`${simulator}/${provider.name}?job=${id}`, { signal }));
  return `${provider.name}: ${await answer.text()}`;
};

const handlers = [
  handle(defineJob({ kind: "call", needs: [providers[0]], ...job }), (ctx) =>
    ctx.call(providers[0], (call) => ask(call, ctx.id)),
  ),
  /** Paid inside of a step. */
  handle(defineJob({ kind: "paid", needs: [providers[0]], ...job }), async (ctx) => {
    const answer = await ctx.step("paid", () => ctx.call(providers[0], (call) => ask(call, ctx.id)));
    await ctx.step("used", () => new Promise((resolve) => setTimeout(() => resolve(answer), ctx.input?.ms ?? 0)));
    return answer;
  }),
  /** Calls without having said so. */
  handle(defineJob({ kind: "unsaid", ...job }), (ctx) => ctx.call(providers[0], (call) => ask(call, ctx.id))),
];

const worker = createWorker({ databaseUrl: url, handlers, logger: silentLogger, alerts: false, ...options });
worker.events.on("trouble", ({ doing, error }) => say({ trouble: `${doing}: ${error}` }));
process.on("message", async (message) => {
  if (message !== "stop") return;
  await worker.stop({ grace: "5s" });
  process.exit(0);
});
process.on("disconnect", () => process.exit(0));
await worker.start();
say({ started: worker.id });
