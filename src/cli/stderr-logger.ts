// Logs of a worker whose stdout belongs to --json: the same lines, on stderr.
import { systemClock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import { toJson } from "./text.js";

const LEVELS = ["debug", "info", "warn", "error"] as const;

export function stderrLogger(level: string, bindings: object = {}): Logger {
  const from = level === "silent" || level === "fatal" ? LEVELS.length : LEVELS.indexOf(level as "info");
  const log = (label: (typeof LEVELS)[number]) => (facts: object, msg?: string) => {
    if (LEVELS.indexOf(label) < from) return;
    const time = new Date(systemClock.now()).toISOString();
    process.stderr.write(`${toJson({ level: label, time, ...bindings, ...facts, msg })}\n`);
  };
  return {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    child: (more) => stderrLogger(level, { ...bindings, ...more }),
  };
}
