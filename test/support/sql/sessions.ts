// Sessions of a test's own: real connections that hold transactions and locks, closed after each test whatever became of it.
import pg from "pg";
import { afterEach } from "vitest";
import type { TestDatabase } from "../database.js";
import { waitUntil } from "../wait.js";
import type { Asker } from "./calls.js";

export interface Session extends Asker {
  readonly pid: number;
  /** What the server told beside its answers, oldest first. */
  readonly notices: string[];
  /** Names of channels and payloads of notifications that arrived, as "channel payload". */
  readonly notified: string[];
  close(): Promise<void>;
}

export async function openSession(url: string): Promise<Session> {
  const client = new pg.Client({ connectionString: url, application_name: "test session" });
  client.on("error", () => {});
  const notices: string[] = [];
  const notified: string[] = [];
  client.on("notice", (notice) => void notices.push(notice.message ?? ""));
  client.on("notification", ({ channel, payload }) => void notified.push(`${channel} ${payload}`));
  await client.connect();
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return {
    pid: rows[0]!.pid,
    notices,
    notified,
    query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await client.query<Row>(text, values)).rows,
    close: () => client.end(),
  };
}

/** Returns a function that opens a session. */
export function useSessions(db: Pick<TestDatabase, "url">): () => Promise<Session> {
  const sessions = new Set<Session>();
  afterEach(async () => {
    await Promise.all([...sessions].map((session) => session.close()));
    sessions.clear();
  });
  return async () => {
    const session = await openSession(db.url);
    sessions.add(session);
    return session;
  };
}

/** Resolves when the session stands in line for a lock that another session holds. */
export const waitUntilBlocked = (db: Asker, session: Session): Promise<unknown> =>
  waitUntil(`session ${session.pid} waits for a lock`, async () => {
    const [row] = await db.query<{ blocked: boolean }>("select cardinality(pg_blocking_pids($1)) > 0 as blocked", [
      session.pid,
    ]);
    return row!.blocked;
  });

/** The SQL state of the error that `work` must end with. */
export async function errorCode(work: Promise<unknown>): Promise<string> {
  return work.then(
    (value) => {
      throw new Error(`An error was expected, not ${JSON.stringify(value)}.`);
    },
    (error: { code?: string }) => error.code ?? String(error),
  );
}
