// The calls about figures and ticks whose plans are looked at.
import type { Call } from "./plan-call.js";

export const INTERVAL_CALLS: Record<string, Call> = {
  // Counts what is ready past what runs: bounded, and asked once in an interval.
  queue_depths_v1: {
    statement: "select * from fairmill.queue_depths_v1($1, $2)",
    values: () => [["default", "other"], '[{"scope": "tenant", "name": "t1"}, {"scope": "kind", "name": "work"}]'],
    ways: ["job_lane", "job_lane backward"],
    walks: ["job_lane"],
  },
  "waits_of running and ended jobs": {
    statement: "select fairmill.waits_of($1, '{work}', '{t1}', '{5,10,100}')",
    values: ({ ids, dead }) => [[...ids, dead]],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "next_due_v1 with something due": {
    statement: "select fairmill.next_due_v1($1)",
    values: () => [["default"]],
    ways: ["job_lane"],
  },
  "next_due_v1 of a queue without jobs": {
    statement: "select fairmill.next_due_v1($1)",
    values: () => [["nothing here"]],
    before:
      "update fairmill.meter set recheck = false where recheck; update fairmill.outbox set recheck = false where recheck",
    ways: ["job_expiring", "job_lane", "job_scheduled"],
    walks: ["job_expiring", "job_scheduled"],
  },
};
