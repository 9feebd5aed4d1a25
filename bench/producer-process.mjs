// Feeds a stream of jobs through one enqueueMany and watches its own memory.
//   parent → child   { url, jobs }        child → parent   { count, seconds, memory }
import { createClient, defineJob } from "../dist/index.js";
import { job } from "./fill-and-drain.mjs";
import { now } from "./statistics.mjs";

const SAMPLE_MS = 50;

process.once("message", async ({ url, jobs }) => {
  const client = createClient({ databaseUrl: url });
  const memory = [];
  let made = 0;
  async function* stream() {
    for (; made < jobs; made++) yield { input: job(made), tenant: "t0" };
  }
  const sample = () => memory.push({ ran: made, rssBytes: process.memoryUsage.rss() });
  sample();
  const timer = setInterval(sample, SAMPLE_MS);
  const fromMs = now();
  const { count } = await client.enqueueMany(defineJob({ kind: "noop" }), stream());
  clearInterval(timer);
  await client.close();
  process.send({ count, seconds: (now() - fromMs) / 1000, memory }, () => process.exit(0));
});
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(1));
