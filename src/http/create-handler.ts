// The public way in: checks the settings, makes a client and what stands on it, and returns the fetch handler with its end.
import { hostname } from "node:os";
import { type AlertOptions, checkAlerts } from "../alerts/alert-settings.js";
import { AlertStandIn, STAND_IN_MS } from "../alerts/stand-in.js";
import { type Clock, checkClock, sleep, systemClock } from "../base/clock.js";
import { ConfigError } from "../base/errors.js";
import { checkLogger, createLogger, type Logger } from "../base/log.js";
import { checkRedact } from "../base/redact.js";
import { checkWorth, readable, refuseUnknown } from "../base/settings.js";
import { checkSecrets, Signer } from "../base/signing.js";
import { openClient } from "../client/client.js";
import type { ClientOptions } from "../client/client-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { createJobRedactor } from "../jobs/redact-job.js";
import { type Backend, type JobLink, LIST_MS_MAX, type LinkedJob, limited, VIEW_MS_MAX } from "./backend.js";
import { alertReader, logReader, metricsReader } from "./client-readers.js";
import { type Credential, checkCredentials, parseCredentials, ROLES, type Role } from "./credentials.js";
import { EventHub } from "./event-hub.js";
import { fleetTroubles, kept } from "./fleet-health.js";
import { bringsToken, type Caller, Gatekeeper } from "./gatekeeper.js";
import { createApp } from "./handler.js";
import { providerReader } from "./provider-readers.js";
import type { AlertReader, LogReader, MetricsReader, ProviderReader, ScalingReader } from "./readers.js";
import { readOpenBulks, runBulk, runErasure } from "./rooms.js";
import { scalingReader } from "./scaling-reader.js";
import { DASHBOARD_FOLDER, StaticFiles } from "./static-files.js";
import { readOverdue } from "./view-statements.js";

/** Who asks, as a function of the application says. */
export interface Visitor {
  readonly name: string;
  readonly role: Role;
  readonly tenant?: string;
}

export interface HttpOptions extends Omit<ClientOptions, "clock" | "stability" | "onRegistered"> {
  /**
   * Who may come in. A list of credentials; or a function of yours that knows your sessions (null: an unknown caller); or "loopback": everybody, for a
   * server that listens on loopback alone. Default: FAIRMILL_DASHBOARD_AUTH; without it the handler refuses to be made.
   */
  readonly auth?: readonly Credential[] | ((request: Request) => Visitor | null | Promise<Visitor | null>) | "loopback";
  /** Signs sessions and job tokens. Default: FAIRMILL_INTERNAL_SECRET; without it sessions end with the process, and there are no job tokens. */
  readonly secret?: string;
  /** Jobs that may be enqueued with a check of their input, and with the limits of their definitions. */
  // biome-ignore lint/suspicious/noExplicitAny: a list of definitions holds jobs of all inputs.
  readonly jobs?: readonly JobDefinition<any, any>[];
  /** Where it is mounted, like "/jobs"; default: at the root. */
  readonly base?: string;
  /** The folder of the dashboard's files; false: none is served. Default: the one of this package. */
  readonly dashboard?: string | false;
  /** Links of your own beside a job. */
  readonly links?: (job: LinkedJob) => readonly JobLink[];
  /** What a credit is worth, in the currency of your providers' costs: then what providers cost stands beside what was earned. */
  readonly creditWorth?: number;
  /** Paths that must not be shown, beside those of the definitions; or a function that changes every payload, result, progress, message and error. */
  readonly redact?: readonly string[] | ((value: unknown) => unknown);
  readonly metrics?: MetricsReader;
  readonly alerts?: AlertReader;
  readonly logs?: LogReader;
  readonly scaling?: ScalingReader;
  readonly providers?: ProviderReader;
  /**
   * After start(): what is evaluated while no worker and no tick evaluates alerts, where none ever did; otherwise their own rules count. false: this process
   * stands in for none. Default: the rules out of the box.
   */
  readonly standIn?: AlertOptions | false;
  /** The text of GET /metrics. */
  readonly metricsText?: () => Promise<string>;
  /** POST /tick. */
  readonly tick?: (request: Request) => Promise<Response>;
  readonly logger?: Logger;
  /** For tests. */
  readonly clock?: Clock;
}

/** A fetch handler, and what ends it. */
export interface HttpHandler {
  (request: Request): Promise<Response>;
  /** Until it is closed, goes on with bulk actions that other processes left, and evaluates alerts while no worker does. For servers that live on. */
  readonly start: () => void;
  /** Waits for what is under way and closes the connections. */
  readonly close: () => Promise<void>;
}

const KNOWN: Record<keyof HttpOptions, true> = {
  databaseUrl: true,
  db: true,
  schema: true,
  connectionsMax: true,
  codec: true,
  offload: true,
  use: true,
  auth: true,
  secret: true,
  jobs: true,
  base: true,
  dashboard: true,
  links: true,
  creditWorth: true,
  redact: true,
  metrics: true,
  alerts: true,
  logs: true,
  scaling: true,
  providers: true,
  standIn: true,
  metricsText: true,
  tick: true,
  logger: true,
  clock: true,
};

const LOOK_MS = 5_000;

export function createHttpHandler(options: HttpOptions = {}): HttpHandler {
  refuseUnknown(options, Object.keys(KNOWN), "createHttpHandler");
  const clock = options.clock === undefined ? systemClock : checkClock(options.clock);
  const logger = options.logger ?? createLogger();
  checkLogger(logger);
  const base = checkBase(options.base ?? "");
  const secret = options.secret ?? process.env["FAIRMILL_INTERNAL_SECRET"];
  const secrets = secret ? checkSecrets(secret, "secret") : undefined;
  checkWorth(options.creditWorth, "creditWorth");
  const auth = authOf(options.auth);
  const tokens = secrets && new Signer(secrets, "job");
  const answers = secrets && new Signer(secrets, "answer");
  const credentials = Array.isArray(auth)
    ? checkCredentials(auth, "createHttpHandler")
    : auth === "loopback"
      ? undefined
      : [];
  const gatekeeper = new Gatekeeper({ credentials, sessions: new Signer(secrets, "session"), tokens, answers, clock });
  const { databaseUrl, db: pool, schema, connectionsMax, codec, offload, use } = options;
  const settings = Object.entries({ databaseUrl, db: pool, schema, connectionsMax, codec, offload, use, clock });
  const { client, context, db } = openClient(Object.fromEntries(settings.filter(([, value]) => value !== undefined)));
  const view = limited(db, VIEW_MS_MAX);
  const ending = new AbortController();
  const driving = new Map<string, Promise<unknown>>();
  const drive = (name: string, run: () => Promise<unknown>, sentence: string) => {
    if (driving.has(name) || ending.signal.aborted) return;
    const running = run()
      .catch((error: unknown) => logger.error({ err: error, what: name }, sentence))
      .finally(() => driving.delete(name));
    driving.set(name, running);
  };
  const { signal } = ending;
  const driveBulk = (id: string) =>
    drive(`bulk ${id}`, () => runBulk(db, clock, id, { signal }), "a bulk action could not be carried on");
  const driveErasure = (id: string) =>
    drive(`erasure ${id}`, () => runErasure(db, clock, id, { signal }), "an erasure could not be carried on");
  const paths = typeof options.redact === "function" ? [] : (options.redact ?? []);
  const events = new EventHub(view, clock, logger);
  const backend: Backend = {
    client,
    context,
    clock,
    logger,
    db,
    view,
    lists: limited(db, LIST_MS_MAX),
    definitions: new Map((options.jobs ?? []).map((job) => [job.kind, job])),
    tokens,
    answers,
    links: options.links,
    redactor: createJobRedactor(checkRedact(paths, "createHttpHandler"), options.jobs ?? []),
    redact: typeof options.redact === "function" ? options.redact : undefined,
    gatekeeper,
    events,
    driveBulk,
    driveErasure,
    metrics: options.metrics ?? metricsReader(view, () => clock.now(), options.creditWorth),
    alerts: options.alerts ?? alertReader(client),
    logs: options.logs ?? logReader(client),
    scaling: options.scaling ?? scalingReader(view),
    providers: options.providers ?? providerReader(view),
  };
  const app = createApp({
    http: backend,
    base,
    files: options.dashboard === false ? undefined : new StaticFiles(options.dashboard ?? DASHBOARD_FOLDER),
    authorize: async (request) =>
      typeof auth === "function" && !bringsToken(request)
        ? visitorOf(await auth(request), gatekeeper, request)
        : gatekeeper.callerOf(request),
    // One client for all scrapes: totals count in it.
    metricsText: options.metricsText ?? (() => client.metrics.prometheus()),
    tick: options.tick,
    isReady: async () => {
      await context.fits();
      await view.query("select 1");
      return true;
    },
    fleetTroubles: kept(clock, async () => fleetTroubles(await readOverdue(view))),
  });
  let looking: Promise<unknown> | undefined;
  const look = async () => {
    while (!ending.signal.aborted) {
      const open = await readOpenBulks(db).catch(() => []);
      for (const id of open) driveBulk(id);
      await sleep(clock, LOOK_MS, ending.signal);
    }
  };
  const alerts = checkAlerts(options.standIn);
  const identity = { id: `server ${hostname()} ${process.pid}`.slice(-200) };
  const standIn = alerts && new AlertStandIn({ db, log: logger, clock, identity }, alerts);
  const watch = async () => {
    while (standIn !== undefined && !ending.signal.aborted) {
      // Not at the start: workers that start beside it are about to.
      await sleep(clock, STAND_IN_MS / 2, ending.signal);
      if (!ending.signal.aborted) await standIn.runOnce();
    }
  };
  const close = async () => {
    ending.abort();
    events.close();
    await looking;
    await Promise.all(driving.values());
    await client.close();
  };
  return Object.assign(async (request: Request) => app.fetch(request), {
    start: () => {
      looking ??= Promise.all([look(), watch()]);
    },
    close,
  });
}

function authOf(given: HttpOptions["auth"]): NonNullable<HttpOptions["auth"]> {
  if (given !== undefined) {
    const isKnown = given === "loopback" || typeof given === "function" || Array.isArray(given);
    if (isKnown) return given;
    throw new ConfigError("auth", 'auth: pass a list of credentials, a function, or "loopback".');
  }
  const text = process.env["FAIRMILL_DASHBOARD_AUTH"];
  if (text) return parseCredentials(text);
  throw new ConfigError(
    "auth",
    'createHttpHandler: say who may come in: auth (or FAIRMILL_DASHBOARD_AUTH, as name:role:secret). For a server that listens on loopback alone: auth: "loopback".',
  );
}

function visitorOf(visitor: Visitor | null, gatekeeper: Gatekeeper, request: Request): Caller | undefined {
  // A job token in the address is ours, even where the application knows its visitors.
  if (visitor === null) return gatekeeper.callerOf(request);
  const { name, role, tenant } = visitor;
  const isFit = readable("auth", "auth", () => typeof name === "string" && name !== "" && ROLES.includes(role));
  if (!isFit) throw new ConfigError("auth", "auth: the function must return { name, role, tenant? } or null.");
  // A browser sends the application's session wherever a page asks it to, and a bearer token never.
  const via = /^bearer\s/i.test(request.headers.get("authorization") ?? "") ? "bearer" : "cookie";
  return { actor: name.slice(0, 200), role, tenant, via };
}

function checkBase(base: unknown): string {
  if (typeof base === "string" && /^(\/[\w.~-]+)*$/.test(base)) return base;
  throw new ConfigError("base", 'base: write the path where it is mounted, like "/jobs", without a slash at its end.');
}
