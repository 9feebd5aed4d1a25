// Is the fleet's work done by anybody? For a monitor outside that asks from time to time, which notices what no worker can: that none is there, and that no tick
// comes. It needs no credential, so it names nothing, and asks the database seldom.
import type { Clock } from "../base/clock.js";
import type { Overdue } from "./view-statements.js";

const KEPT_MS = 5_000;

const SENTENCES: Readonly<Record<keyof Overdue, string>> = {
  schedules: "a schedule should have ticked and did not",
  due: "jobs are due, and nothing starts them",
  leases: "a worker is dead, and nothing takes over its jobs",
  waiting: "jobs are ready, and neither a worker nor a tick has come for ten minutes",
};

export const fleetTroubles = (overdue: Overdue): string[] =>
  (Object.keys(SENTENCES) as (keyof Overdue)[]).filter((name) => overdue[name]).map((name) => SENTENCES[name]);

/** The same answer for a few seconds, however many ask. A failure is not kept. */
export function kept<T>(clock: Clock, read: () => Promise<T>): () => Promise<T> {
  let known: { readonly answer: Promise<T>; readonly untilMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonic();
    if (known !== undefined && nowMs < known.untilMs) return known.answer;
    const answer = read();
    known = { answer, untilMs: nowMs + KEPT_MS };
    answer.catch(() => {
      known = undefined;
    });
    return answer;
  };
}
