// One statement over one connection of the driver, and what a connection can do.
import type pg from "pg";
import { markAsOurs } from "./explain-failure.js";

/** A client of the driver. */
export type Line = pg.Client | pg.PoolClient;

/** Sends the statement. By callback: the driver's promise, like its timer, would keep the text long after the answer, for the collector to carry along. */
export const ask = (client: pg.PoolClient, query: pg.QueryConfig) =>
  new Promise<pg.QueryResult>((resolve, reject) => {
    client.query(query, (error, result) => (error ? reject(markAsOurs(error)) : resolve(result)));
  });

/**
 * Statements here count under locks, and need to see what was committed while they waited: READ COMMITTED. Where the database, the role or a
 * pool of the caller's says otherwise, each statement has a transaction of its own that says so. To change the session's setting would be
 * to change it for others, behind a pooler and in a pool of the caller's.
 */
export const BEGIN = "begin isolation level read committed";

/** In a transaction of its own, behind what sets it up; sent in one piece where the connection allows it. */
export async function askInTransaction(
  client: pg.PoolClient,
  query: pg.QueryConfig,
  before: readonly pg.QueryConfig[] = [],
): Promise<pg.QueryResult> {
  // Where a statement has failed, the last one rolls back.
  const statements = [{ text: BEGIN }, ...before, query, { text: "commit" }];
  const send = (statement: pg.QueryConfig) => ask(client, statement);
  const results = await Promise.allSettled(
    isPipelined(client) ? inOnePiece(client, () => statements.map(send)) : inTurn(statements, send),
  );
  for (const { status, reason } of results as PromiseRejectedResult[]) if (status === "rejected") throw reason;
  return (results.at(-2) as PromiseFulfilledResult<pg.QueryResult>).value;
}

/** Whether statements may be sent before earlier ones are answered. Those of a caller's pool seldom allow it. */
export const isPipelined = (client: pg.PoolClient) => (client as { pipeline?: boolean }).pipeline === true;

/** Sends each statement when the one before it is answered, whatever that came to: the driver warns of more at a time. */
export function inTurn<S, T>(statements: readonly S[], send: (statement: S) => Promise<T>): Promise<T>[] {
  let before: Promise<unknown> | undefined;
  return statements.map((statement) => {
    const answer = before ? before.then(() => send(statement)) : send(statement);
    before = answer.catch(() => {});
    return answer;
  });
}

interface Stream {
  destroy(error: Error): void;
  cork?(): void;
  uncork?(): void;
}

/** A pool of the caller's may have clients without a stream. */
const streamOf = (line: Line) => (line as { connection?: { stream?: Stream } }).connection?.stream;

/** Sends what `send` sends in one piece: each statement by itself would be a write of its own, and wake the server's process each time. */
export function inOnePiece<T>(client: pg.PoolClient, send: () => T): T {
  const stream = streamOf(client);
  stream?.cork?.();
  try {
    return send();
  } finally {
    stream?.uncork?.();
  }
}

/** Fails everything that waits on this connection. Without a stream it waits on. */
export function hangUp(line: Line, error: Error): void {
  streamOf(line)?.destroy(error);
}
