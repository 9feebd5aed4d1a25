// Of the line to the server and of this machine: pooler, clock, the time that a stop is given.
import { isPooled } from "../db/listen.js";
import type { Check } from "./finding.js";

export const LINE_CHECKS: readonly Check[] = [
  {
    name: "pooler",
    look: async ({ db }) => {
      const connection = await db.dedicated("fairmill doctor");
      try {
        if (!(await isPooled(connection))) return [];
        const named = connection.isDirect ? "DATABASE_DIRECT_URL" : "DATABASE_URL";
        return [
          {
            level: "warning",
            what: `${named} leads through a pooler in transaction mode.`,
            why: "Notifications do not pass it: workers poll every second, and new jobs start that much later.",
            fix: "Set DATABASE_DIRECT_URL to an address of the server itself; everything else may stay behind the pooler.",
          },
        ];
      } finally {
        await connection.end();
      }
    },
  },
  {
    name: "clock",
    look: async ({ ask, clock, limits }) => {
      const sentMs = clock.now();
      const [row] = await ask<{ ms: number }>("select extract(epoch from clock_timestamp())::float8 * 1000 as ms");
      const backMs = clock.now();
      // The answer was written at some time between the two.
      const skewMs = row!.ms < sentMs ? row!.ms - sentMs : Math.max(0, row!.ms - backMs);
      if (Math.abs(skewMs) <= limits.clockSkewMsMax) return [];
      return [
        {
          level: "warning",
          what: `The clock of the database is ${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? "ahead of" : "behind"} this machine's.`,
          why: "Leases and due times go by the database's clock and are safe; times in logs, runAt that was computed here, and signatures of webhooks are off by as much.",
          fix: "Let both machines keep their clocks by NTP (timedatectl set-ntp true).",
        },
      ];
    },
  },
  {
    name: "grace",
    look: async ({ stopMs, platformGraceMs }) => {
      if (stopMs === undefined || platformGraceMs === undefined || stopMs <= platformGraceMs) return [];
      const seconds = Math.ceil(stopMs / 1000);
      return [
        {
          level: "warning",
          what: `A stop of the worker may take ${seconds} s (grace, abortGrace and ten seconds to write), and the platform kills after ${platformGraceMs / 1000} s.`,
          why: "Jobs that would have ended are killed; they run again when the lease is over, and the death counts as a crash of theirs.",
          fix: `terminationGracePeriodSeconds: ${seconds} (Kubernetes), stop_grace_period: ${seconds}s (Compose), TimeoutStopSec=${seconds} (systemd); or lower grace in the config.`,
        },
      ];
    },
  },
];
