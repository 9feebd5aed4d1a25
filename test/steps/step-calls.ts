// The functions of steps as tests call them.
import { expect } from "vitest";
import type { TestDatabase } from "../support/database.js";
import { type Asker, type Claimed, call, claim, enqueueOne, register, settle } from "../support/sql/calls.js";

export interface Answer {
  answer: string;
  kind: string | null;
  kept: unknown;
}

export const store = async (
  ask: Asker,
  worker: string,
  job: { id: string; lease_no: string },
  name: string,
  position = 0,
  result: unknown = null,
  limits: { steps?: number; bytes?: number } = {},
): Promise<Answer> =>
  (
    await ask.query<Answer>("select * from fairmill.store_step_v1($1, $2, $3, $4, $5, $6, 0, $7, $8)", [
      worker,
      job.id,
      job.lease_no,
      name,
      position,
      JSON.stringify(result),
      limits.steps ?? 1000,
      limits.bytes ?? 2 ** 24,
    ])
  )[0]!;

export const pause = async (
  ask: Asker,
  job: { id: string; lease_no: string },
  name: string,
  kind: "sleep" | "wait",
  waitMs: number | null,
  worker = "w",
): Promise<{ answer: string; in_ms: number | null; signalled: boolean | null; kept: unknown }> =>
  (
    await ask.query("select * from fairmill.pause_step_v1($1, $2, $3, $4, 0, $5, $6)", [
      worker,
      job.id,
      job.lease_no,
      name,
      kind,
      waitMs,
    ])
  )[0] as never;

export const signal = (ask: Asker, id: string, name: string, value: unknown = null, alone = true) =>
  call<string>(ask, "signal_v1($1, $2, $3, $4)", [id, name, JSON.stringify(value), alone]);

/** Puts a job back as the library does that has come to a wait. */
export const putBack = (ask: Asker, job: Claimed, names: readonly string[], delayMs = 3_600_000) =>
  settle(ask, "w", [job], "snooze", [{ delay_ms: delayMs, waits: names }]);

export function stepsOn(db: TestDatabase) {
  const steps = (ask: Asker = db) =>
    ask.query(
      "select job_id, name, kind, position, result, lease_no, attempt from fairmill.step order by position, name",
    );

  async function running(job: object = {}): Promise<Claimed> {
    await register(db, "w");
    const id = await enqueueOne(db, { ...job });
    const [claimed] = await claim(db, "w");
    expect(claimed!.id).toBe(id);
    return claimed!;
  }

  return { steps, running };
}
