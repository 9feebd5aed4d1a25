// Hearing and sending notifications. One channel, named like the schema; the payload says what it is about.
import type { Database, DedicatedConnection } from "./database.js";

export interface ListenConnection {
  /** Resolves when the connection is gone. */
  readonly lost: Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a connection that hears every notification of this schema from now on. "pooled": the connection goes through a pooler, which would
 * hand the connection that listens to other clients after the statement: nothing would be heard, and it would listen for as long as it lives.
 */
export async function openListener(
  db: Database,
  onPayload: (payload: string) => void,
): Promise<ListenConnection | "pooled"> {
  const connection = await db.dedicated("fairmill listen");
  const lost = new Promise<void>((resolve) => connection.on("end", () => resolve()));
  connection.on("notification", ({ payload = "" }) => onPayload(payload));
  const close = () => connection.end().catch(() => {});
  try {
    if (!connection.isDirect && (await isPooled(connection))) {
      await close();
      return "pooled";
    }
    await connection.query(`listen "${db.schema}"`);
  } catch (error) {
    await close();
    throw error;
  }
  return { lost, close };
}

/** A pooler names a process of its own making when a client connects, because it does not know yet which one will answer. */
async function isPooled(connection: DedicatedConnection): Promise<boolean> {
  // Compared there, because what an application told the driver about numbers holds for this connection, too.
  const { rows } = await connection.query(
    "select case when pg_backend_pid() = $1 then 'direct' else 'pooled' end as way",
    [connection.processID],
  );
  return (rows[0] as { way: string }).way === "pooled";
}

/** Sends a notification over a connection of the pool. */
export async function notify(db: Database, payload: string): Promise<void> {
  await db.query("select pg_notify($1, $2)", [db.schema, payload]);
}
