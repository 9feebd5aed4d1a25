// What the driver and PostgreSQL throw, in the words of this library: every public call passes its failures through here, so that a caller
// finds a FairmillError with a stable code, what happened and what to do. The driver's error stays as the cause.

import { DatabaseError, FairmillError } from "../base/errors.js";
import { isConnectionLoss, isUnmigrated, sqlStateOf } from "./failures.js";
import { IsolationError } from "./isolation-error.js";
import { NotSentError } from "./not-sent-error.js";
import { type Refusal, toError } from "./refusals.js";

/** `said` are PostgreSQL's own words, with the SQL state. */
type Explain = (said: string, schema: string) => string;

/** By SQL state, the first that fits. */
const EXPLAINED: readonly (readonly [states: RegExp, code: string, explain: Explain])[] = [
  [
    /^42725$/,
    "FAIRMILL_SCHEMA_MIXED",
    (said, schema) =>
      `The schema "${schema}" has functions of two versions of this library (${said}). Run "fairmill migrate" of the newest version that uses it.`,
  ],
  [
    /^42501$/,
    "FAIRMILL_PERMISSION_DENIED",
    (said, schema) =>
      `PostgreSQL refused: ${said}. Connect as the role that owns the schema "${schema}", or ask its owner for the right.`,
  ],
  [
    /^28P01$/,
    "FAIRMILL_LOGIN_REFUSED",
    (said) => `PostgreSQL refused: ${said}. Check user and password in the database URL.`,
  ],
  [
    /^28/,
    "FAIRMILL_LOGIN_REFUSED",
    (said) => `PostgreSQL refused: ${said}. Check the user in the database URL, and who may connect in pg_hba.conf.`,
  ],
  [
    /^3D000$/,
    "FAIRMILL_DATABASE_NOT_FOUND",
    (said) => `PostgreSQL refused: ${said}. Create the database first, or correct its name in the database URL.`,
  ],
  [
    /^53300$/,
    "FAIRMILL_TOO_MANY_CONNECTIONS",
    (said) => `PostgreSQL refused: ${said}. Close some connections, lower connectionsMax, or raise max_connections.`,
  ],
  [
    /^53/,
    "FAIRMILL_DATABASE_FULL",
    (said) => `PostgreSQL has no room left: ${said}. Nothing was written. Give it disk or memory, then do it again.`,
  ],
  [
    /^25006$/,
    "FAIRMILL_READ_ONLY",
    (said) =>
      `PostgreSQL takes no writes: ${said}. Nothing was written. Connect to the primary, not to a standby; or look for default_transaction_read_only.`,
  ],
  [
    /^55P03$/,
    "FAIRMILL_LOCK_TIMEOUT",
    (said) =>
      `Another session holds a lock for longer than lock_timeout allows to wait: ${said}. Nothing was written. Do it again, or end the transaction that holds the lock.`,
  ],
  [
    /^57014$/,
    "FAIRMILL_STATEMENT_TIMEOUT",
    (said) =>
      `PostgreSQL ended the statement: ${said}. Nothing was written. Do it again; if it needs longer, raise statement_timeout of the role.`,
  ],
  [
    /^40/,
    "FAIRMILL_CONFLICT",
    (said) =>
      `PostgreSQL rolled the transaction back, because it collided with another one: ${said}. Nothing was written. Run the whole transaction again.`,
  ],
  [
    /^25P02$/,
    "FAIRMILL_TRANSACTION_ABORTED",
    (said) =>
      `A statement before this one failed, and the transaction can only be rolled back: ${said}. Roll it back; the error of that statement says why.`,
  ],
  [
    /^(22P05|22021)$/,
    "FAIRMILL_ENCODING",
    (said) =>
      `PostgreSQL cannot keep a character of this text: ${said}. Nothing was written. Use a database with the encoding UTF8.`,
  ],
];

/** What this one carried was refused, not whoever carried it: others may fare better. */
const OF_CONTENT = new Set(["FAIRMILL_DATABASE", "FAIRMILL_ENCODING"]);
export const isOfContent = (error: unknown): boolean => error instanceof DatabaseError && OF_CONTENT.has(error.code);

/** The error for whoever called. `error` is what the driver threw, where that lies deeper. What has nothing to do with a database stays as it is. */
export function explainFailure(failure: unknown, schema: string, error: unknown = failure): unknown {
  if (failure instanceof FairmillError) return failure;
  const state = sqlStateOf(error);
  const known = state === undefined ? undefined : explainState(state, failure, error, schema);
  if (known !== undefined) return known;
  if (isLoginRefusal(error)) return explained(loginOf(error), failure);
  // 57P03: it starts or stops, and takes no connections yet.
  if (isConnectionLoss(error) || state === "57P03")
    return new DatabaseError(
      "FAIRMILL_DATABASE_UNREACHABLE",
      `The database did not answer (${wordsOf(error)}). Check that PostgreSQL runs and that the database URL is right.`,
      { cause: failure, sqlState: state },
    );
  return state === undefined
    ? failure
    : new DatabaseError(
        "FAIRMILL_DATABASE",
        `PostgreSQL refused: ${saidBy(error, state)}. ${hintOf(error) ?? "Its log may say more."}`,
        { cause: failure, sqlState: state },
      );
}

/** The same for a failure to connect. */
export function notSent(cause: unknown, schema: string): NotSentError {
  const why = explainFailure(cause, schema);
  if (why instanceof DatabaseError && why.code !== "FAIRMILL_DATABASE_UNREACHABLE")
    return new NotSentError(why.code, why.message, { cause, sqlState: why.sqlState });
  return new NotSentError(
    "FAIRMILL_DATABASE_UNREACHABLE",
    `The database could not be reached (${wordsOf(cause)}). Check that PostgreSQL runs and that the database URL is right.`,
    { cause, sqlState: sqlStateOf(cause) },
  );
}

function explainState(state: string, failure: unknown, error: unknown, schema: string): FairmillError | undefined {
  if (isUnmigrated(error))
    return new DatabaseError(
      "FAIRMILL_NOT_MIGRATED",
      `The schema "${schema}" is missing or older than this library (${wordsOf(error)}). Run "fairmill migrate" or client.migrate().`,
      { cause: failure, sqlState: state },
    );
  if (state === "FM003" || state === "FM021") return new IsolationError(failure, wordsOf(error));
  const refusal = state.startsWith("FM01") ? refusalOf(error) : undefined;
  if (refusal !== undefined) return toError(refusal);
  const [, code, explain] = EXPLAINED.find(([states]) => states.test(state)) ?? [];
  if (code === undefined) return undefined;
  return new DatabaseError(code, explain!(saidBy(error, state), schema), { cause: failure, sqlState: state });
}

/** A limit that said no by an SQL state tells its reason as JSON. */
function refusalOf(error: unknown): Refusal | undefined {
  try {
    return JSON.parse((error as { detail: string }).detail) as Refusal;
  } catch {
    return undefined;
  }
}

/** The driver refuses by itself to log in without a password that the server asks for. It has no code for that. */
const isLoginRefusal = (error: unknown) =>
  error instanceof Error && /^SASL|client password must be/i.test(error.message);
const loginOf = (error: unknown) => `${wordsOf(error)}. Check user and password in the database URL.`;
const explained = (message: string, cause: unknown) =>
  new DatabaseError("FAIRMILL_LOGIN_REFUSED", `PostgreSQL asks for a password: ${message}`, { cause });

const textOf = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
const hintOf = (error: unknown) => textOf((error as { hint?: unknown }).hint);

/** Connecting to several addresses of a name fails with a list of errors and no message. */
function wordsOf(error: unknown): string {
  const { message, code, errors } = (error ?? {}) as { message?: unknown; code?: unknown; errors?: readonly unknown[] };
  return textOf(message) ?? textOf((errors?.[0] as Error | undefined)?.message) ?? textOf(code) ?? String(error);
}

const saidBy = (error: unknown, state: string) => `${wordsOf(error).replace(/[.!]$/, "")} (${state})`;

/** What came out of a connection of ours. Handlers, middlewares and `fill` may use databases of their own: what those throw is theirs. */
const OURS = new WeakSet<object>();

export function markAsOurs<E>(error: E): E {
  if (typeof error === "object" && error !== null) OURS.add(error);
  return error;
}

/** Explains what came out of a connection of ours, and leaves everything else as it is. */
export const explainOurs = (error: unknown, schema: string): unknown =>
  typeof error === "object" && error !== null && OURS.has(error) ? explainFailure(error, schema) : error;

export async function explaining<T>(schema: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainOurs(error, schema);
  }
}
