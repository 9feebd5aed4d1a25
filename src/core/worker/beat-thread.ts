// The heartbeat, in a thread of its own: a handler that blocks the main loop does not stop it. It beats while the main loop shows
// signs of life; when the loop hangs for longer than allowed, the beats stop, the lease ends, and others take the jobs over.
import { parentPort, workerData } from "node:worker_threads";
import { type Clock, sleep, systemClock } from "../../base/clock.js";
import { RetryPause } from "../../base/retry-pause.js";
import { openSingle, type SingleConnection } from "../../db/single-connection.js";
import type { BeatReport, BeatSettings, Pulse } from "./heartbeat.js";

const settings = workerData as BeatSettings;
const clock: Clock = systemClock;
const port = parentPort!;
const stop = new AbortController();

let lastPulseMs = clock.monotonic();
let pulse: Pulse = { worker: settings.worker, stats: {} };
let connection: SingleConnection | undefined;

port.on("message", (message: Pulse | "stop") => {
  if (message === "stop") return stop.abort();
  lastPulseMs = clock.monotonic();
  pulse = message;
});

const say = (report: BeatReport) => port.postMessage(report);

async function beat(): Promise<void> {
  const stalledMs = clock.monotonic() - lastPulseMs;
  if (stalledMs > settings.stallMs) return say({ type: "stalled", stalledMs });
  const { worker, stats } = pulse;
  const sentAtMs = clock.monotonic();
  try {
    connection ??= await openSingle(settings.connection, "fairmill heartbeat", settings.leaseMs);
    const rows = await connection.query<{ alive: boolean; cancelled: string[] }>(settings.statement, [
      worker,
      settings.leaseMs,
      JSON.stringify(stats),
    ]);
    say({ type: "beat", worker, sentAtMs, alive: rows[0]!.alive, cancelled: rows[0]!.cancelled });
  } catch (error) {
    connection?.close();
    connection = undefined;
    say({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  }
}

async function loop(): Promise<void> {
  // After a failure the next try comes sooner: the lease is running out, or it is over and work stands still until a beat comes through.
  const pause = new RetryPause(clock, {
    firstMs: Math.min(settings.beatMs, 250),
    maxMs: Math.min(settings.beatMs, 2_000),
  });
  while (!stop.signal.aborted) {
    await beat();
    if (connection) {
      pause.succeeded();
      await sleep(clock, settings.beatMs, stop.signal);
    } else await pause.wait(stop.signal);
  }
  connection?.close();
  port.close();
}

// A timer of ours does not keep a process alive, but this thread's port does until it is closed.
void loop();
