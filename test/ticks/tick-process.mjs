// A function that runs one tick and then hangs in its job, for a test that kills it.
import { defineJob, handle, silentLogger } from "fairmill";
import { runTick } from "fairmill/tick";

const { url, budget, parallel } = JSON.parse(process.env.TEST_TICK);
const job = defineJob({ kind: "work" });
const hang = handle(job, ({ id }) => {
  process.send({ held: id });
  return new Promise(() => {});
});
await runTick({ databaseUrl: url, handlers: [hang], budget, parallel, logger: silentLogger });
