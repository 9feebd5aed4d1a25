// Hearing and sending notifications. One channel, named like the schema; the payload says what it is about.
import type { Database } from "./database.js";

export interface Ear {
  /** Resolves when the connection is gone. */
  readonly lost: Promise<void>;
  close(): Promise<void>;
}

/** Opens a connection that hears every notification of this schema from now on. */
export async function openEar(db: Database, onPayload: (payload: string) => void): Promise<Ear> {
  const connection = await db.dedicated("fairmill listen");
  const lost = new Promise<void>((resolve) => connection.on("end", () => resolve()));
  connection.on("notification", ({ payload = "" }) => onPayload(payload));
  const close = () => connection.end().catch(() => {});
  try {
    await connection.query(`listen "${db.schema}"`);
  } catch (error) {
    await close();
    throw error;
  }
  return { lost, close };
}

/** Sends a notification over a connection of the pool. */
export async function notify(db: Database, payload: string): Promise<void> {
  await db.query("select pg_notify($1, $2)", [db.schema, payload]);
}
