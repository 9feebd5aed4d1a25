// What was not done, as a typed answer (RFC 9457): a code that stays, what happened, what to do. Never SQL, never a stack.
import { ConfigError, DatabaseError, FairmillError, InputInvalidError } from "../base/errors.js";
import type { Issue } from "./schema.js";

/** An answer other than success. */
export class HttpProblem extends FairmillError {
  override readonly name = "HttpProblem";
  readonly status: number;
  readonly issues: readonly Issue[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    code: string,
    message: string,
    more: { readonly issues?: readonly Issue[]; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(code, message);
    this.status = status;
    this.issues = more.issues;
    this.headers = more.headers ?? {};
  }
}

export const notFound = (what: string) =>
  new HttpProblem(404, "FAIRMILL_HTTP_NOT_FOUND", `There is no ${what} here, or it is not yours to see.`);

export const requestInvalid = (issues: readonly Issue[]) =>
  new HttpProblem(
    400,
    "FAIRMILL_HTTP_REQUEST_INVALID",
    `The request is not valid: ${issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ")}.`,
    { issues },
  );

export const notWired = (what: string) =>
  new HttpProblem(
    501,
    "FAIRMILL_HTTP_NOT_WIRED",
    `${what} is not recorded here: this server was started without it. Pass it to createHttpHandler, or use "fairmill serve".`,
  );

/** What is signed with the secret. */
export const needsSecret = (what: string) =>
  new HttpProblem(
    501,
    "FAIRMILL_HTTP_NOT_WIRED",
    `${what}: this server was started without FAIRMILL_INTERNAL_SECRET. Set it to 32 bytes or more, and start the server again.`,
  );

export const noTicks = () =>
  new HttpProblem(
    501,
    "FAIRMILL_HTTP_NOT_WIRED",
    'No ticks run here. "fairmill serve" needs FAIRMILL_INTERNAL_SECRET and a config with handlers; createHttpHandler takes what createTickHandler returned, as tick.',
  );

/** By code; the others by their class, below. */
const STATUS: Readonly<Record<string, number>> = {
  FAIRMILL_CREDITS_EXHAUSTED: 402,
  FAIRMILL_JOB_NOT_FOUND: 404,
  FAIRMILL_BATCH_NOT_FOUND: 404,
  FAIRMILL_MESSAGE_NOT_FOUND: 404,
  FAIRMILL_SCHEDULE_NOT_FOUND: 404,
  FAIRMILL_SCHEDULE_CHANGED: 409,
  FAIRMILL_JOB_NOT_ENDED: 409,
  FAIRMILL_DELIVERY_JOB: 409,
  FAIRMILL_DUPLICATE_JOB: 409,
  FAIRMILL_BATCH_ENDED: 409,
  FAIRMILL_PAYLOAD_TOO_LARGE: 413,
  FAIRMILL_STEP_RESULT: 400,
  FAIRMILL_ACTIVE_LIMIT: 429,
  FAIRMILL_RATE_LIMIT: 429,
  FAIRMILL_CONFLICT: 503,
  FAIRMILL_DATABASE: 400,
  FAIRMILL_ENCODING: 400,
};

const TITLES: Readonly<Record<number, string>> = {
  400: "The request is not valid",
  401: "Sign in",
  402: "Not enough credits",
  403: "Not allowed",
  404: "Not found",
  405: "Not this method",
  409: "It does not fit the state of things",
  413: "Too large",
  415: "JSON only",
  429: "Too many",
  500: "A fault of the server",
  501: "Not there on this server",
  503: "Not now",
};

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly issues?: readonly Issue[];
  readonly retryAfterMs?: number;
}

const TYPE = "urn:fairmill:problem:";

/** Words of the database stay inside: a caller learns the code and what to do, not tables and columns. */
const DATABASE_WORDS: Readonly<Record<string, string>> = {
  FAIRMILL_STATEMENT_TIMEOUT:
    "It took longer than this server lets a question take. Ask for less: a narrower filter, a smaller page.",
  FAIRMILL_DATABASE_UNREACHABLE: "The database did not answer. Try again in a moment.",
  FAIRMILL_CONFLICT: "It collided with something else. Nothing was written; do it again.",
  FAIRMILL_LOCK_TIMEOUT: "Another session holds what this needs. Nothing was written; do it again.",
  FAIRMILL_NOT_MIGRATED: 'The schema is missing or older than this server. Run "fairmill migrate".',
  FAIRMILL_PERMISSION_DENIED: 'The database role of this server may not do that. See "fairmill roles".',
};

export function toProblem(error: unknown): { problem: Problem; headers: Readonly<Record<string, string>> } {
  if (error instanceof HttpProblem) {
    const { status, code, message, issues } = error;
    return { problem: problemOf(status, code, message, issues), headers: error.headers };
  }
  if (error instanceof InputInvalidError)
    return { problem: problemOf(400, error.code, error.message, error.issues.map(issueOf)), headers: {} };
  if (error instanceof ConfigError) return { problem: problemOf(400, error.code, error.message), headers: {} };
  if (error instanceof DatabaseError) {
    const status = STATUS[error.code] ?? 503;
    const code = error.code === "FAIRMILL_STATEMENT_TIMEOUT" ? "FAIRMILL_HTTP_STATEMENT_LIMIT" : error.code;
    const words = DATABASE_WORDS[error.code] ?? "The database refused. The server's log says why.";
    return { problem: problemOf(status, code, words), headers: status === 503 ? { "retry-after": "1" } : {} };
  }
  if (error instanceof FairmillError) {
    const { retryAfterMs } = error as { retryAfterMs?: unknown };
    const problem = problemOf(STATUS[error.code] ?? 409, error.code, error.message);
    return typeof retryAfterMs === "number"
      ? { problem: { ...problem, retryAfterMs }, headers: { "retry-after": String(Math.ceil(retryAfterMs / 1000)) } }
      : { problem, headers: {} };
  }
  return {
    problem: problemOf(500, "FAIRMILL_HTTP_FAULT", "The server made a mistake; its log says more."),
    headers: {},
  };
}

const issueOf = ({ path, message }: { path?: string; message: string }): Issue => ({ path: path ?? "", message });

const problemOf = (status: number, code: string, detail: string, issues?: readonly Issue[]): Problem => ({
  type: TYPE + code,
  title: TITLES[status] ?? "Not done",
  status,
  code,
  detail,
  ...(issues !== undefined && { issues }),
});
