// Changing a job from outside: cancel it, run it again.
import type { LiveState } from "../model/states.js";
import type { Database } from "./database.js";

export type CancelAnswer = "cancelled" | "requested" | "ended" | "not_found";
export type RetryAnswer = LiveState | "done" | "not_found";

export async function cancelJob(db: Database, id: string): Promise<CancelAnswer> {
  const [row] = await db.query<{ answer: CancelAnswer }>("select fairmill.cancel_v1($1) as answer", [id]);
  return row!.answer;
}

export async function retryJob(db: Database, id: string): Promise<RetryAnswer> {
  const [row] = await db.query<{ answer: RetryAnswer }>("select fairmill.retry_v1($1) as answer", [id]);
  return row!.answer;
}
