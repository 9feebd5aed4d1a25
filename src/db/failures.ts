// Which database failures pass by themselves, and which of them leave open whether the statement took effect.
import { DatabaseError } from "../base/errors.js";
import { NotSentError } from "./not-sent-error.js";

/** Of an error that was explained, the state that it stands for. */
const code = (error: unknown): string => sqlStateOf(error) ?? String((error as { code?: unknown })?.code ?? "");
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

/** Another session has locked what the statement needs, for longer than it may wait. */
export const isHeldUp = (error: unknown): boolean => code(error) === "55P03";

export const wasRolledBack = (error: unknown): boolean => ROLLED_BACK.test(code(error));

/** The server or the connection to it went away; if a statement was under way, its outcome is unknown. */
export const isConnectionLoss = (error: unknown): boolean =>
  error instanceof NotSentError ||
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

/** As isTransient, for a caller that waits: nothing was sent, and it may work the next time. A wrong password will not. */
export const isWorthRepeating = (error: unknown): boolean =>
  isTransient(error instanceof NotSentError ? error.cause : error);

/** PostgreSQL's own word for what happened: five characters, letters and digits. Undefined when it comes from elsewhere. */
export function sqlStateOf(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.sqlState;
  const state = (error as { code?: unknown } | undefined)?.code;
  // Node has codes of five letters, too, and all of them begin with an E: EPIPE. No SQL state does.
  return typeof state === "string" && /^(?!E)[0-9A-Z]{5}$/.test(state) ? state : undefined;
}

/** The schema is missing or older than this library. */
export const isUnmigrated = (error: unknown): boolean => ["3F000", "42P01", "42883", "42703"].includes(code(error));
