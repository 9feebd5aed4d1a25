// Changing a job from outside: cancel it, run it again.

import type { ClientContext } from "../core/enqueue/client-context.js";
import type { LiveState } from "../core/job/states.js";
import { qualify } from "../db/schema-name.js";
import type { Session } from "../db/session.js";

export type CancelAnswer = "cancelled" | "requested" | "ended" | "not_found";
export type RetryAnswer = LiveState | "done" | "no_credits" | "order_busy" | "not_found";

/** What `jobs.runNow` came to: "ready" is taken by a worker, "blocked" when its key has a free slot, "scheduled" when a limit allows. */
export type RunNowAnswer = LiveState | "done" | "dead" | "cancelled" | "not_found";

export async function runJobNow(db: Session, id: string): Promise<RunNowAnswer> {
  const [row] = await db.query<{ answer: RunNowAnswer }>("select fairmill.run_now_v1($1) as answer", [id]);
  return row!.answer;
}

export async function cancelJob(db: Session, id: string): Promise<CancelAnswer> {
  const [row] = await db.query<{ answer: CancelAnswer }>("select fairmill.cancel_v1($1) as answer", [id]);
  return row!.answer;
}

export async function retryJob(db: Session, id: string): Promise<RetryAnswer> {
  const [row] = await db.query<{ answer: RetryAnswer }>("select fairmill.retry_v1($1) as answer", [id]);
  return row!.answer;
}

const FORGET = "select fairmill.forget_steps_v1($1)::text as forgotten";

/** The same without its steps, all or nothing. A job that runs keeps them, and so does one that is done. */
export function retryFromStart({ schema, atomically }: ClientContext, id: string): Promise<RetryAnswer> {
  return atomically(async (tx) => {
    const { rows } = await tx.query(qualify("select fairmill.retry_v1($1) as answer", schema), [id]);
    const { answer } = rows[0] as { answer: RetryAnswer };
    if (answer !== "done" && answer !== "running") await tx.query(qualify(FORGET, schema), [id]);
    return answer;
  });
}
