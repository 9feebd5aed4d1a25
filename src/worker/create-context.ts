// What the services of a worker share: connections, clock, log, news. Made before any of them.
import { Bus } from "../base/bus.js";
import { systemClock } from "../base/clock.js";
import { createLogger } from "../base/log.js";
import type { WorkerContext } from "../core/worker/worker-context.js";
import type { WorkerEmitter } from "../core/worker/worker-events.js";
import { WorkerIdentity } from "../core/worker/worker-id.js";
import type { WorkerNews } from "../core/worker/worker-news.js";
import { ANSWER_MS_MAX, Database } from "../db/database.js";
import { checkDatabaseUrl } from "../db/database-url.js";
import { isUnmigrated } from "../db/failures.js";
import { SchemaFit } from "../db/migrate/schema-fit.js";
import type { WorkerOptions, WorkerSettings } from "./worker-settings.js";

/** A short lease is no reason to give up a database that is slow. */
const ANSWER_MS_MIN = 5_000;

/** The context of the core, with what the features read besides. */
export interface FeatureContext extends WorkerContext {
  readonly settings: WorkerSettings;
  readonly identity: WorkerIdentity;
  /** Whether the schema fits this library. */
  readonly fit: SchemaFit;
}

export function createContext(
  options: WorkerOptions,
  settings: WorkerSettings,
  kinds: readonly string[],
  events: WorkerEmitter,
): FeatureContext {
  checkDirectUrl(options.directUrl);
  const db = new Database(options, {
    connectionsMax: 4 + settings.concurrency.size,
    // An idle worker sends something every minute: opening a connection for it would cost more than keeping one.
    connectionsMin: 1,
    applicationName: "fairmill worker",
    // A statement without an answer for as long as a lease lasts has lost its connection. Work would stand still for any longer.
    answerMsMax: Math.min(ANSWER_MS_MAX, Math.max(ANSWER_MS_MIN, settings.leaseMs)),
  });
  return contextOver({ db, ...clockAndLogOf(options) }, settings, kinds, events);
}

/** Asked at once: a listener that cannot connect tries again for ever. */
function checkDirectUrl(given: string | undefined): void {
  const said = process.env["DATABASE_DIRECT_URL"];
  if (given !== undefined) checkDatabaseUrl(given, "directUrl");
  else if (said) checkDatabaseUrl(said, "DATABASE_DIRECT_URL");
}

export const clockAndLogOf = ({ clock, logger }: Pick<WorkerOptions, "clock" | "logger">) => ({
  clock: clock ?? systemClock,
  log: logger ?? createLogger(),
});

/** A context over connections that others may use, too. */
export function contextOver(
  { db, clock, log }: Pick<FeatureContext, "db" | "clock" | "log">,
  settings: WorkerSettings,
  kinds: readonly string[],
  events: WorkerEmitter,
): FeatureContext {
  const identity = new WorkerIdentity(clock);
  const fit = new SchemaFit(db);
  const trouble = (doing: string, error: unknown) => {
    log.warn(
      { worker: identity.id, doing, error: error instanceof Error ? error.message : String(error) },
      "Trouble, will try again",
    );
    events.emit("trouble", { doing, error });
    // A function that is gone: the schema may have been migrated beyond this library since the start.
    if (isUnmigrated(error)) void fit.retell((misfit) => trouble("checking the schema", misfit));
  };
  return { db, clock, log, events, bus: new Bus<WorkerNews>(), settings, kinds, identity, fit, trouble };
}
