// The process of a child, from its first message to its end.
//
//  1. Load the handlers, and wait to be told the settings.       3. Answer pings from the main loop: a loop that hangs does not.
//  2. Say ready; run what comes in.                              4. The line breaks, so the supervisor is gone: stop, and end.
import { Worker as Thread } from "node:worker_threads";
import { sleep, systemClock } from "../../base/clock.js";
import { ShutdownError } from "../../base/errors.js";
import { createLogger, type Logger } from "../../base/log.js";
import { outliveTerminal } from "../../base/terminal.js";
import { Line } from "../border/line.js";
import type { ChildSettings, FromChild, ToChild, Vitals } from "../border/messages.js";
import { sendError } from "../border/sent-errors.js";
import { ChildRuns, type ChildWork } from "./child-runs.js";

/** Without its supervisor a child may not go on: others take its jobs over when the lease ends. */
const ORPHAN_MS_MAX = 2_000;

export interface LoadedWork extends ChildWork {
  readonly logger?: Logger | undefined;
}

/** Runs until the supervisor says leave or is gone. `load` is called once, before anything is said to be ready. */
export function runChild(load: () => Promise<LoadedWork>): void {
  let runs: ChildRuns | undefined;
  let isLeaving = false;
  const clock = systemClock;
  const line = new Line<FromChild, ToChild>(
    (batch) => {
      // A supervisor that is gone hears nothing any more; the line says so by itself.
      if (process.connected) process.send!(batch, () => {});
    },
    (message) => {
      if (message.type === "begin") return void begin(message.settings);
      if (message.type === "ping") return line.say({ type: "pong", ping: message.ping, vitals: vitals() });
      if (message.type === "leave") return leave(0);
      runs?.hear(message);
    },
  );
  const vitals = (): Vitals => {
    const { user, system } = process.cpuUsage();
    // Both since the process began, loading included: else the first share would be a multiple of a core.
    return { cpuUs: user + system, memoryBytes: process.memoryUsage.rss(), uptimeMs: process.uptime() * 1_000 };
  };

  const begin = async (settings: ChildSettings) => {
    try {
      const { logger, ...work } = await load();
      const log = (logger ?? createLogger()).child({ child: settings.number });
      runs = new ChildRuns(work, { settings, clock, log, say: (message) => line.say(message) });
      line.say({ type: "ready", offer: runs.offer });
    } catch (error) {
      line.say({ type: "unable", error: sendError(error) });
      leave(1);
    }
  };

  /** What was said goes out first. */
  const leave = (code: number) => {
    if (isLeaving) return;
    isLeaving = true;
    line.flush();
    process.send!([], () => process.exit(code));
  };

  const orphaned = async () => {
    if (isLeaving) return;
    isLeaving = true;
    runs?.abortAll(new ShutdownError());
    const endMs = clock.monotonic() + ORPHAN_MS_MAX;
    while ((runs?.size ?? 0) > 0 && clock.monotonic() < endMs) await sleep(clock, 20);
    process.exit(0);
  };

  /** Whatever else listens: what the process was doing is in an unknown state, and its jobs go to others. */
  const die = (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    line.say({ type: "dying", error: sendError(error) });
    leave(1);
  };

  outliveTerminal();
  if (process.send === undefined) throw new Error("This is a part of a Fairmill supervisor, which starts it.");
  process.on("message", (batch) => line.receive(batch));
  process.on("uncaughtException", die);
  process.on("unhandledRejection", die);
  process.on("disconnect", () => void orphaned());
  // A Ctrl-C at a terminal reaches all processes of the group: it is the supervisor that decides when children end.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  new Thread(new URL("./orphan-thread.js", import.meta.url), { stdout: false, stderr: false }).unref();
}
