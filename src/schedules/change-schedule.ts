// Changing a schedule by hand: which parts may change, and the statement that changes them. What the code declared keeps its fingerprint: the same
// declaration at the next start leaves the edit alone.
import type { Duration } from "../base/duration.js";
import { ConfigError, ScheduleChangedError, ScheduleNotFoundError } from "../base/errors.js";
import { nameOf, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { momentOf } from "../base/time.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { jobText } from "../core/enqueue/enqueue-statements.js";
import { newJob } from "../core/enqueue/make-job.js";
import { defineJob, type JobDefinition } from "../core/job/job-definition.js";
import type { Session } from "../db/session.js";
import { Cron } from "./cron.js";
import { checkJitter, checkMissed, type Missed } from "./schedule.js";
import { readNow, readSchedule, type Schedule } from "./schedule-statements.js";

/** What changes; what is left out stays as it is. */
export interface ScheduleChange<In = unknown> {
  readonly cron?: string;
  readonly timezone?: string;
  readonly missed?: Missed;
  readonly jitter?: Duration;
  readonly input?: In;
  readonly paused?: boolean;
  /** With `input`: the definition that validates it, and from which its unique key, its price and its uses follow. */
  readonly job?: JobDefinition<In, unknown>;
  /** `updatedAt` of the schedule that the caller looked at: a change that came in between is not written over. */
  readonly unchangedSince?: Date | string;
}

/** What a change came to. */
export interface ScheduleChanged {
  readonly outcome: "changed" | "same";
  /** null while it is paused. */
  readonly nextRun: Date | null;
}

const KNOWN = ["cron", "timezone", "missed", "jitter", "input", "paused", "job", "unchangedSince"] as const;
/** What follows from an input by a definition. */
const DERIVED = ["unique_key", "account", "uses"] as const;
const CHANGE = "select fairmill.change_schedule_v1($1, $2, $3, $4, $5, $6, $7, $8, $9) as answer";
const JOB = `select (s.job - 'payload' - 'flow')::text as job, (s.job -> 'payload')::text as payload
  from fairmill.schedule s where s.name = $1`;

interface StoredJob {
  readonly kind: string;
  readonly queue?: string;
  readonly tenant?: string;
  readonly priority?: number;
  readonly key?: string;
}

/** The job of a schedule, and its input as it is stored; undefined: there is none. */
export async function readScheduleJob(
  db: Session,
  name: string,
): Promise<{ readonly job: StoredJob; readonly payload: unknown } | undefined> {
  const [row] = await db.query<{ job: string; payload: string | null }>(JOB, [name]);
  return (
    row && { job: JSON.parse(row.job) as StoredJob, payload: row.payload === null ? null : JSON.parse(row.payload) }
  );
}

export async function changeSchedule<In>(
  context: ClientContext,
  name: string,
  change: ScheduleChange<In>,
): Promise<ScheduleChanged> {
  const where = `schedules.change(${showValue(nameOf(name, "name"))})`;
  if (typeof change !== "object" || change === null)
    throw new ConfigError("change", `${where}: pass what changes, like { cron: "0 4 * * *" }.`);
  refuseUnknown(change, KNOWN, where);
  const { missed, jitter, paused, unchangedSince } = change;
  if (paused !== undefined && typeof paused !== "boolean")
    throw new ConfigError("paused", `${where}: paused: ${showValue(paused)} is neither true nor false.`);
  const sinceText = unchangedSince === undefined ? null : momentOf(unchangedSince, "unchangedSince");
  const missedMax = missed === undefined ? null : checkMissed(missed);
  const jitterMs = jitter === undefined ? null : checkJitter(jitter);
  const found = await readSchedule(context, name);
  if (found === undefined) throw new ScheduleNotFoundError(name);
  if (found.startsFlows && jitterMs)
    throw new ConfigError("jitter", `${where}: it starts flows, which have no jitter.`);
  const cron = new Cron(change.cron ?? found.cron, change.timezone ?? found.timezone);
  const job = change.input === undefined ? null : await jobOf(context, found, change, where);
  const nextAt = new Date(cron.next(await readNow(context))).toISOString();
  const isTimed = change.cron !== undefined || change.timezone !== undefined;
  const [row] = await context.query<{ answer: "changed" | "same" | "stale" | "not_found" }>(CHANGE, [
    name,
    ...(isTimed ? [cron.expression, cron.timezone] : [null, null]),
    ...[nextAt, job, missedMax, jitterMs, paused ?? null, sinceText],
  ]);
  const { answer } = row!;
  if (answer === "not_found") throw new ScheduleNotFoundError(name);
  if (answer === "stale") throw new ScheduleChangedError(name);
  return { outcome: answer, nextRun: (await readSchedule(context, name))?.nextRun ?? null };
}

/** The job of the new input. Middlewares see it as they saw the declared one. */
async function jobOf<In>(
  context: ClientContext,
  { name, kind, startsFlows }: Schedule,
  { input, job: definition }: ScheduleChange<In>,
  where: string,
): Promise<string> {
  if (startsFlows)
    throw new ConfigError("input", `${where}: it starts flows, whose jobs follow from the code; declare it there.`);
  const stored = (await readScheduleJob(context, name))?.job;
  if (stored === undefined) throw new ScheduleNotFoundError(name);
  if (definition !== undefined && definition.kind !== kind)
    throw new ConfigError("job", `${where}: its jobs are of the kind "${kind}", not "${definition.kind}".`);
  const derived = DERIVED.find((member) => member in stored);
  if (definition === undefined && derived !== undefined)
    throw new ConfigError(
      "input",
      `${where}: its ${derived.replace("_", " ")} follows from the input by the definition of "${kind}". Pass it as job, or change the input in the code.`,
    );
  const { tenant, priority, key } = stored;
  const how = Object.fromEntries(Object.entries({ tenant, priority }).filter(([, value]) => value !== undefined));
  const keyed = definition?.key === undefined && key !== undefined ? { ...how, key } : how;
  const made = definition ?? (defineJob({ kind }) as unknown as JobDefinition<In, unknown>);
  return jobText(await newJob(made, input as In, keyed, context.codec, context.chain));
}
