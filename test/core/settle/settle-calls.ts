// Running jobs and the verdicts on them, as the tests of settling use them.
import { type Asker, type Claimed, claim, enqueueOne, register, type VerdictName } from "../../support/sql/calls.js";

export const FAILURE = { outcome: "failed", error: { name: "Error", message: "no luck" } };

/** What each verdict brings along. */
export const DETAIL: Record<VerdictName, unknown> = {
  done: { result: { n: 7 } },
  dead: FAILURE,
  cancelled: null,
  retry: { ...FAILURE, delay_ms: 60_000 },
  snooze: { delay_ms: 60_000 },
  release: null,
};
export const WAITING: readonly VerdictName[] = ["retry", "snooze", "release"];
export const ENDING: readonly VerdictName[] = ["done", "dead", "cancelled"];

/** One job, running in the hands of a worker that is alive. */
export async function running(ask: Asker, worker = "w", job: Record<string, unknown> = {}): Promise<Claimed> {
  await enqueueOne(ask, job);
  await register(ask, worker);
  return (await claim(ask, worker))[0]!;
}
