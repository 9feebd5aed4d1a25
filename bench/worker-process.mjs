// A worker process of the benchmark. The handler notes when each job started and does nothing else.
//   parent → child   { file, url, settings, jobs } load · "start" · "stop"
//   child → parent   "loaded" · "started" · { ran } now and then · { startedAt, twice, memory } at the end
import { now } from "./statistics.mjs";

const TELL_MS = 10;
const SAMPLE_MS = 100;

let start;
let worker;
let startedAt;
let ran = 0;
let twice = 0;
const memory = [];

function note({ n }) {
  if (Number.isNaN(startedAt[n])) startedAt[n] = now();
  else twice++;
  ran++;
}

async function load({ file, url, settings, jobs }) {
  const adapter = await import(file);
  // Filled before the work begins, so that the benchmark's own memory does not look like growth.
  startedAt = new Float64Array(jobs).fill(Number.NaN);
  start = () => work(adapter, { url }, settings);
  process.send("loaded");
}

async function work(adapter, ctx, settings) {
  worker = await adapter.startWorker(ctx, settings, note);
  process.send("started");
  let told = 0;
  setInterval(() => {
    if (ran === told) return;
    told = ran;
    process.send({ ran });
  }, TELL_MS);
  const sample = () => memory.push({ ran, rssBytes: process.memoryUsage.rss() });
  sample();
  setInterval(sample, SAMPLE_MS);
}

async function stop() {
  await worker.stop();
  process.send({ startedAt, twice, memory }, () => process.exit(0));
}

process.on("message", (message) => {
  if (message === "stop") return stop();
  return message === "start" ? start() : load(message);
});
// Ctrl-C reaches the whole group of processes; the parent decides what happens then.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(1));
