// Changing a job from outside: cancel it, run it again.
import type { LiveState } from "../core/job/states.js";
import type { Database } from "../db/database.js";

export type CancelAnswer = "cancelled" | "requested" | "ended" | "not_found";
export type RetryAnswer = LiveState | "done" | "no_credits" | "order_busy" | "not_found";

export async function cancelJob(db: Database, id: string): Promise<CancelAnswer> {
  const [row] = await db.query<{ answer: CancelAnswer }>("select fairmill.cancel_v1($1) as answer", [id]);
  return row!.answer;
}

export async function retryJob(db: Database, id: string): Promise<RetryAnswer> {
  const [row] = await db.query<{ answer: RetryAnswer }>("select fairmill.retry_v1($1) as answer", [id]);
  return row!.answer;
}

/** The same without its steps, all or nothing. A job that runs keeps them, and so does one that is done. */
export function retryFromStart(db: Database, id: string): Promise<RetryAnswer> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query("select fairmill.retry_v1($1) as answer", [id]);
    const { answer } = rows[0] as { answer: RetryAnswer };
    if (answer !== "done" && answer !== "running") await tx.query("select fairmill.forget_steps_v1($1)", [id]);
    return answer;
  });
}
