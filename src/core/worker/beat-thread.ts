// The heartbeat, in a thread of its own: a handler that blocks the main loop does not stop it. It beats while the main loop shows
// signs of life; when the loop hangs for longer than allowed, the beats stop, the lease ends, and others take the jobs over.
import { parentPort, workerData } from "node:worker_threads";
import { type Clock, systemClock } from "../../base/clock.js";
import { type Service, ServiceLoop } from "../../base/service.js";
import type { SingleConnection } from "../../db/single-connection.js";
import type { BeatReport, BeatSettings, Pulse } from "./heartbeat.js";

/** The first beat loads the driver and connects: on a busy machine that takes so long. */
const FIRST_TAKES_MS = 1_000;

const settings = workerData as BeatSettings;
const clock: Clock = systemClock;
const port = parentPort!;

let lastPulseMs = clock.monotonic();
let lastBeatMs = lastPulseMs;
let pulse: Pulse = { worker: settings.worker, stats: {}, isIdle: false };
let connection: SingleConnection | undefined;
/** The registration was the first beat. */
let hasBegun = false;

port.on("message", (message: Pulse | "stop") => {
  if (message === "stop") return void end();
  lastPulseMs = clock.monotonic();
  const hasBegunToWork = pulse.isIdle && !message.isIdle;
  pulse = message;
  // The lease now protects jobs: as much of it as usual must be left.
  if (hasBegunToWork) loop.wake(Math.max(0, lastBeatMs + settings.beatMs - lastPulseMs));
});

const say = (report: BeatReport) => port.postMessage(report);

/** A service: a round is one beat. */
const beats: Service = {
  name: "heartbeat",
  // After a failure the next try comes sooner: the lease is running out, or it is over and work stands still until a beat comes through.
  retry: { firstMs: Math.min(settings.beatMs, 250), maxMs: Math.min(settings.beatMs, 2_000) },
  runOnce: async () => {
    if (!hasBegun) {
      hasBegun = true;
      return Math.max(0, settings.beatMs - FIRST_TAKES_MS);
    }
    const stalledMs = clock.monotonic() - lastPulseMs;
    if (stalledMs > settings.stallMs) say({ type: "stalled", stalledMs });
    else await beat();
    return pulse.isIdle ? settings.idleBeatMs : settings.beatMs;
  },
  failed: () => {
    connection?.close();
    connection = undefined;
  },
};

async function beat(): Promise<void> {
  const { worker, stats } = pulse;
  const sentAtMs = clock.monotonic();
  lastBeatMs = sentAtMs;
  connection ??= await open();
  const values = [worker, settings.leaseMs, JSON.stringify(stats)];
  const [row] = await connection.query<{ alive: boolean; cancelled: string[] }>(settings.statement, values);
  say({ type: "beat", worker, sentAtMs, tookMs: clock.monotonic() - sentAtMs, ...row! });
}

/** The driver is loaded for the first beat: a worker that ends before it does not pay for that. */
async function open(): Promise<SingleConnection> {
  const { openSingle } = await import("../../db/single-connection.js");
  return openSingle(settings.connection, "fairmill heartbeat", settings.leaseMs);
}

const loop = new ServiceLoop(clock, beats, (_, error) =>
  say({ type: "failed", message: error instanceof Error ? error.message : String(error) }),
);

async function end(): Promise<void> {
  await loop.stop();
  connection?.close();
  // A timer of this thread does not keep a process alive, but its port does until it is closed.
  port.close();
}

loop.start();
