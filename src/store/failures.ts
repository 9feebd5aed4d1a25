// Which database failures pass by themselves, and which of them leave open whether the statement took effect.
import { DatabaseError } from "../model/errors.js";

const code = (error: unknown): string => String((error as { code?: unknown })?.code ?? "");
const message = (error: unknown): string => String((error as { message?: unknown })?.message ?? "");

/** The transaction was rolled back for certain and may be tried again: conflicts, a server that starts, is full or stands by. */
const ROLLED_BACK = /^(40001|40P01|55P03|57P03|57014|25006|53...)$/;
const NETWORK = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/** Somebody holds what the statement needs, for longer than it may wait. */
export const isHeldUp = (error: unknown): boolean => code(error) === "55P03";

export const wasRolledBack = (error: unknown): boolean => ROLLED_BACK.test(code(error));

/** The server or the connection to it went away; if a statement was under way, nobody knows what became of it. */
export const isConnectionLoss = (error: unknown): boolean =>
  code(error) === "FAIRMILL_DATABASE_UNREACHABLE" ||
  NETWORK.has(code(error)) ||
  /^(08|57P0[12]|58|XX000$)/.test(code(error)) ||
  /connection terminated|connection ended|timeout exceeded|query read timeout|client has encountered|not queryable|Cannot use a pool/i.test(
    message(error),
  );

/** Worth trying again after a pause, wherever repeating is safe. */
export const isTransient = (error: unknown): boolean => wasRolledBack(error) || isConnectionLoss(error);

/** The server as a whole is in trouble, or away: what was sent is not to blame. One that was sent and never answered may be. */
export const isServersTrouble = (error: unknown): boolean =>
  /^(57P03|25006|53100|53300)$/.test(code(error)) || (isConnectionLoss(error) && !isUnanswered(error));

/** It was sent, and no answer came for too long. */
const isUnanswered = (error: unknown): boolean => code(error) === "ETIMEDOUT" && !(error instanceof DatabaseError);

/** The schema is missing or older than this library. */
export const isUnmigrated = (error: unknown): boolean => ["3F000", "42P01", "42883", "42703"].includes(code(error));

/** Wraps a failure in an error that says what to do. `error` is what the driver threw, where that lies deeper. */
export function explainFailure(failure: unknown, schema: string, error: unknown = failure): unknown {
  if (failure instanceof DatabaseError) return failure;
  if (isUnmigrated(error))
    return new DatabaseError(
      "FAIRMILL_NOT_MIGRATED",
      `The schema "${schema}" is missing or older than this library (${message(error)}). Run "fairmill migrate" or client.migrate().`,
      { cause: failure },
    );
  if (code(error) === "42501")
    return new DatabaseError(
      "FAIRMILL_PERMISSION_DENIED",
      `The database refused (${message(error)}). Connect as the role that owns the schema "${schema}", or ask its owner for the right.`,
      { cause: failure },
    );
  // 57P03: it starts or stops, and takes no connections yet.
  if (isConnectionLoss(error) || code(error) === "57P03")
    return new DatabaseError(
      "FAIRMILL_DATABASE_UNREACHABLE",
      `The database did not answer (${message(error) || code(error)}). Check that PostgreSQL runs and that the database URL is right.`,
      { cause: failure },
    );
  return failure;
}
