// Who asks: by bearer token, basic, session cookie or job token. Writes must come from the same origin: a cookie goes wherever the browser goes.
import type { Clock } from "../base/clock.js";
import type { Signer } from "../base/signing.js";
import { ANSWER_TOKEN, type AnswerGrant, readAnswerToken } from "../jobs/answer-token.js";
import { JOB_TOKEN, readJobToken } from "../jobs/job-token.js";
import { findCredential, type Role, type StoredCredential } from "./credentials.js";
import { HttpProblem } from "./problem.js";

/** The caller, with what it may do. */
export interface Caller {
  readonly actor: string;
  readonly role: Role | "job" | "answer";
  /** Narrowed to this tenant. */
  readonly tenant: string | undefined;
  readonly via: "none" | "cookie" | "bearer" | "basic" | "token";
  /** Of a job token: the one job. */
  readonly job?: string;
  /** Of the link to a question: what it may answer. */
  readonly answer?: AnswerGrant;
}

export interface GatekeeperOptions {
  /** undefined: no caller has to sign in, which is for loopback alone. */
  readonly credentials: readonly StoredCredential[] | undefined;
  readonly sessions: Signer;
  readonly tokens: Signer | undefined;
  readonly answers: Signer | undefined;
  readonly clock: Clock;
}

const COOKIE = "fairmill_session";
const SESSION_MS = 12 * 3_600_000;
/** Wrong secrets in a minute, for one name, before it has to wait. */
const FAILURES_MAX = 10;
const FAILURES_MS = 60_000;
const NAMES_MAX = 1_000;

const LOCAL: Caller = { actor: "local", role: "admin", tenant: undefined, via: "none" };

export class Gatekeeper {
  readonly #options: GatekeeperOptions;
  readonly #failures = new Map<string, number[]>();

  constructor(options: GatekeeperOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#options.credentials === undefined;
  }

  /** undefined: an unknown caller. */
  callerOf(request: Request): Caller | undefined {
    const authorization = request.headers.get("authorization") ?? "";
    const bearer = /^bearer\s+(\S+)$/i.exec(authorization)?.[1];
    if (bearer?.startsWith(ANSWER_TOKEN)) return this.#byAnswerToken(bearer);
    const token = bearer?.startsWith(JOB_TOKEN) ? bearer : tokenInQuery(request);
    if (token !== undefined) return this.#byJobToken(token);
    if (this.isOpen) return LOCAL;
    if (bearer !== undefined) return this.#bySecret(undefined, bearer, "bearer");
    const basic = /^basic\s+([\w+/=-]+)$/i.exec(authorization)?.[1];
    if (basic !== undefined) {
      const [, name, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(basic, "base64").toString()) ?? [];
      return name === undefined ? undefined : this.#bySecret(name, secret!, "basic");
    }
    return this.#byCookie(request.headers.get("cookie") ?? "");
  }

  #byJobToken(token: string): Caller | undefined {
    const { tokens, clock } = this.#options;
    const job = tokens && readJobToken(tokens, clock, token);
    return job === undefined ? undefined : { actor: "job token", role: "job", tenant: undefined, via: "token", job };
  }

  /** Only as a header: a token that may write must not stand in an address, which servers and browsers keep. */
  #byAnswerToken(token: string): Caller | undefined {
    const { answers, clock } = this.#options;
    const answer = answers && readAnswerToken(answers, clock, token);
    const actor = answer?.by === undefined ? "answer link" : `answer link of ${answer.by}`;
    return answer && { actor, role: "answer", tenant: undefined, via: "token", answer };
  }

  #bySecret(name: string | undefined, secret: string, via: "bearer" | "basic" | "cookie"): Caller | undefined {
    const found = findCredential(this.#options.credentials ?? [], name, secret);
    return found && { actor: found.name, role: found.role, tenant: found.tenant, via };
  }

  #byCookie(header: string): Caller | undefined {
    const value = new RegExp(`(?:^|;\\s*)${COOKIE}=([^;]+)`).exec(header)?.[1];
    const content = value === undefined ? undefined : this.#options.sessions.read(value);
    const { name, exp, key } = (content ?? {}) as { name?: unknown; exp?: unknown; key?: unknown };
    if (typeof exp !== "number" || exp <= this.#options.clock.now()) return undefined;
    // A credential that was removed, or whose secret changed, ends its sessions.
    const found = this.#options.credentials?.find((one) => one.name === name && fingerprint(one) === key);
    return found && { actor: found.name, role: found.role, tenant: found.tenant, via: "cookie" };
  }

  /** The cookie of a new session, and whose it is; undefined: name and secret do not fit. */
  signIn(name: string, secret: string, isSecure: boolean): { caller: Caller; cookie: string } | undefined {
    // Only here, where people type: a person who guesses must not be able to lock programs out.
    this.#refuseImpatient(name);
    const caller = this.#bySecret(name, secret, "cookie");
    if (caller === undefined) this.#failed(name);
    const found = this.#options.credentials?.find((one) => one.name === name);
    if (caller === undefined || found === undefined) return undefined;
    const exp = this.#options.clock.now() + SESSION_MS;
    const value = this.#options.sessions.sign({ name, exp, key: fingerprint(found) });
    return { caller, cookie: cookieOf(value, SESSION_MS / 1000, isSecure) };
  }

  signOut = (isSecure: boolean): string => cookieOf("", 0, isSecure);

  #refuseImpatient(name: string): void {
    const nowMs = this.#options.clock.monotonic();
    const recent = (this.#failures.get(name) ?? []).filter((ms) => nowMs - ms < FAILURES_MS);
    if (recent.length < FAILURES_MAX) return;
    throw new HttpProblem(
      429,
      "FAIRMILL_HTTP_TOO_MANY_SIGN_INS",
      "Too many wrong secrets for this name. Wait a minute.",
      { headers: { "retry-after": "60" } },
    );
  }

  #failed(name: string): void {
    const nowMs = this.#options.clock.monotonic();
    const recent = (this.#failures.get(name) ?? []).filter((ms) => nowMs - ms < FAILURES_MS);
    // Names are the caller's to choose: no more of them are kept than this.
    if (this.#failures.size >= NAMES_MAX && !this.#failures.has(name)) this.#failures.clear();
    this.#failures.set(name, [...recent, nowMs].slice(-FAILURES_MAX));
  }
}

/** The request brings a token of ours: then that says who asks, whoever the application knows by its session. */
export const bringsToken = (request: Request): boolean =>
  new RegExp(`^bearer\\s+(${JOB_TOKEN}|${ANSWER_TOKEN})`, "i").test(request.headers.get("authorization") ?? "");

const tokenInQuery = (request: Request): string | undefined =>
  new URL(request.url).searchParams.get("token") ?? undefined;

const fingerprint = (one: StoredCredential): string => one.digest.subarray(0, 6).toString("hex");

const cookieOf = (value: string, seconds: number, isSecure: boolean): string =>
  `${COOKIE}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${isSecure ? "; Secure" : ""}`;

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses writes that a page of another origin had the browser send. Browsers say where a request comes from; programs say nothing, and have
 * no cookies of a person.
 */
export function refuseCrossOrigin(request: Request, caller: Caller | undefined): void {
  if (SAFE.has(request.method)) return;
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  const host = request.headers.get("x-forwarded-host") ?? request.headers.get("host") ?? new URL(request.url).host;
  const isForeign =
    (site !== null && site !== "same-origin" && site !== "none") || (origin !== null && hostOf(origin) !== host);
  // Without either header it is no browser of today; a cookie without them is refused all the same.
  const isUnsaid = site === null && origin === null && caller?.via === "cookie";
  if (isForeign || isUnsaid)
    throw new HttpProblem(
      403,
      "FAIRMILL_HTTP_CROSS_ORIGIN",
      "Writes are taken from the dashboard's own origin only, or with a bearer token.",
    );
}

const hostOf = (origin: string): string => (URL.canParse(origin) ? new URL(origin).host : "");

/** A page elsewhere that had its name point at loopback (DNS rebinding) shows by its host. Without sign-in that is all that tells. */
export function refuseForeignHost(request: Request, hosts: ReadonlySet<string>): void {
  const host = (request.headers.get("host") ?? new URL(request.url).host).replace(/:\d+$/, "").toLowerCase();
  if (hosts.has(host)) return;
  throw new HttpProblem(
    403,
    "FAIRMILL_HTTP_CROSS_ORIGIN",
    `Without sign-in this server answers to loopback names alone, not to "${host.slice(0, 100)}".`,
  );
}
