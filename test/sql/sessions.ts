// Sessions of a test's own: real connections that hold transactions and locks, closed after each test whatever became of it.
import pg from "pg";
import { afterEach } from "vitest";
import type { TestDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import type { Asker } from "./calls.js";

export interface Session extends Asker {
  readonly pid: number;
  /** What the server told beside its answers, oldest first. */
  readonly notices: string[];
  /** Names of channels and payloads of notifications that arrived, as "channel payload". */
  readonly notified: string[];
}

/** Returns a function that opens a session. */
export function useSessions(db: Pick<TestDatabase, "url" | "query">): (options?: pg.ClientConfig) => Promise<Session> {
  const open = new Set<pg.Client>();
  afterEach(async () => {
    await Promise.all([...open].map((client) => client.end()));
    open.clear();
  });
  return async (options = {}) => {
    const client = new pg.Client({ connectionString: db.url, application_name: "test session", ...options });
    client.on("error", () => {});
    const notices: string[] = [];
    const notified: string[] = [];
    client.on("notice", (notice) => void notices.push(notice.message ?? ""));
    client.on("notification", ({ channel, payload }) => void notified.push(`${channel} ${payload}`));
    await client.connect();
    open.add(client);
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    return {
      pid: rows[0]!.pid,
      notices,
      notified,
      query: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
        (await client.query<Row>(text, values)).rows,
    };
  };
}

/** Resolves when the session stands in line for a lock that somebody else holds. */
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
