// Schedules as an application sees them: declared by code at every start, listed, paused, run by hand.
import { createHash } from "node:crypto";
import { canonicalJson } from "../base/canonical-json.js";
import type { Duration } from "../base/duration.js";
import { ConfigError, ScheduleNotFoundError } from "../base/errors.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { EnqueueChain } from "../core/enqueue/enqueue-middleware.js";
import { jobText } from "../core/enqueue/enqueue-statements.js";
import type { RuleTeller } from "../core/enqueue/make-job.js";
import { type EnqueueOptions, type JobMakers, newJob } from "../core/enqueue/make-job.js";
import type { Codec } from "../core/job/codec.js";
import type { Enqueued, NewJob } from "../core/job/enqueue-options.js";
import { type JobDefinition, refuseReserved } from "../core/job/job-definition.js";
import type { Database } from "../db/database.js";
import { checkNamePage } from "../limits/name-page.js";
import type { NamePage } from "../limits/overview-statements.js";
import { Cron } from "./cron.js";
import { checkJitter, checkMissed, type Missed } from "./schedule.js";
import {
  pauseSchedule,
  readFingerprint,
  readNow,
  readSchedule,
  readSchedules,
  removeSchedule,
  runSchedule,
  type Schedule,
  type ScheduleDefinition,
  setSchedule,
} from "./schedule-statements.js";

/** An expression, and the zone whose clocks it means. */
export interface CronSpec {
  /** Minute, hour, day of the month, month, day of the week; a sixth field in front is the second. */
  readonly cron: string;
  /** Default "UTC". */
  readonly timezone?: string;
}

export interface ScheduleOptions<In = unknown> extends CronSpec, Pick<EnqueueOptions, "tenant" | "priority" | "key"> {
  readonly job: JobDefinition<In, unknown>;
  readonly input: In;
  /** What becomes of ticks that nobody saw in time; default "once". */
  readonly missed?: Missed;
  /** Jobs start up to so much after their tick, each tick at a moment of its own; default: at once. */
  readonly jitter?: Duration;
  /** Default: as it is, and a new one is not. */
  readonly paused?: boolean;
}

/** What declaring a schedule came to. */
export interface Scheduled {
  readonly outcome: "created" | "changed" | "same";
  /** null while it is paused. */
  readonly nextRun: Date | null;
}

const KNOWN = ["cron", "timezone", "job", "input", "tenant", "priority", "key", "missed", "jitter", "paused"] as const;
const RUNS_MAX = 1_000;

export class ScheduleBook {
  readonly #db: Database;
  readonly #rules: RuleTeller;
  readonly #codec: Codec | undefined;
  readonly #chain: EnqueueChain | undefined;

  constructor(db: Database, { rules, codec, chain }: JobMakers) {
    this.#db = db;
    this.#rules = rules;
    this.#codec = codec;
    this.#chain = chain;
  }

  async declare<In>(name: string, options: ScheduleOptions<In>): Promise<Scheduled> {
    const { cron, definition } = await this.#check(nameOf(name, "name"), options);
    await this.#rules.tell(options.job);
    const known = await readFingerprint(this.#db, name);
    // Most declarations say what is known: they write nothing.
    const outcome =
      known.fingerprint === definition.fingerprint
        ? "same"
        : await setSchedule(this.#db, definition, cron.next(known.nowMs));
    return { outcome, nextRun: (await readSchedule(this.#db, name))?.nextRun ?? null };
  }

  async #check<In>(
    name: string,
    options: ScheduleOptions<In>,
  ): Promise<{ cron: Cron; definition: ScheduleDefinition }> {
    const where = `schedule(${showValue(name)})`;
    if (typeof options !== "object" || options === null)
      throw new ConfigError("options", `${where}: pass an object, like { cron: "0 3 * * *", job, input: {} }.`);
    refuseUnknown(options, KNOWN, where);
    const { job, input, tenant, priority, key, paused } = options;
    if (!readable("job", where, () => typeof job?.kind === "string"))
      throw new ConfigError("job", `${where}: job must be what defineJob(…) returned.`);
    refuseReserved(job.kind, where);
    if (paused !== undefined && typeof paused !== "boolean")
      throw new ConfigError("paused", `${where}: paused: ${showValue(paused)} is neither true nor false.`);
    const cron = new Cron(options.cron, options.timezone);
    const missedMax = checkMissed(options.missed);
    const jitterMs = checkJitter(options.jitter);
    if (jitterMs > 0 && job.unique?.debounceMs !== undefined)
      throw new ConfigError("jitter", `${where}: debounce says when the job runs; leave jitter out.`);
    const how = Object.fromEntries(
      Object.entries({ tenant, priority, key }).filter(([, value]) => value !== undefined),
    );
    // Middlewares see the job once, when it is declared: the database makes those of the ticks.
    const draft = { kind: job.kind, queue: job.queue, input, options: how as EnqueueOptions };
    const { input: given, options: wanted } = (await this.#chain?.(draft)) ?? draft;
    const plain = await newJob(job, given as In, wanted, undefined);
    const sealed = this.#codec === undefined ? plain : await newJob(job, given as In, wanted, this.#codec);
    const settings = { cron: cron.expression, timezone: cron.timezone, missedMax, jitterMs, paused };
    const fingerprint = this.#fingerprintOf(plain, { name, ...settings });
    return { cron, definition: { name, ...settings, job: jobText(sealed), fingerprint } };
  }

  /** Of what was said, not of what is stored: a codec seals the same input differently every time. */
  #fingerprintOf(job: NewJob, settings: object): string {
    const text = canonicalJson(`{"settings":${JSON.stringify(settings)},"job":${jobText(job)}}`);
    // A bare hash of an input that can be guessed gives the input away.
    return this.#codec?.fingerprint?.(text, job) ?? createHash("sha256").update(text).digest("hex");
  }

  remove(name: string): Promise<boolean> {
    return removeSchedule(this.#db, nameOf(name, "name"));
  }

  list(page: NamePage): Promise<Schedule[]> {
    return readSchedules(this.#db, checkNamePage(page, "schedules"));
  }

  /** Of a schedule by its name, or of any expression. By the database's clock. */
  async nextRuns(what: string | CronSpec, count: number): Promise<Date[]> {
    wholeNumber(count, 1, RUNS_MAX, "count");
    if (typeof what !== "string") {
      refuseUnknown(what, ["cron", "timezone"], "nextRuns");
      return runsFrom(new Cron(what.cron, what.timezone), await readNow(this.#db), count);
    }
    const { cron, timezone, nextRun } = await this.#find(what);
    const nowMs = await readNow(this.#db);
    // One that is due and not done comes first.
    return runsFrom(new Cron(cron, timezone), Math.min(nowMs, (nextRun?.getTime() ?? nowMs) - 1), count);
  }

  async pause(name: string): Promise<void> {
    if (!(await pauseSchedule(this.#db, nameOf(name, "name"), undefined))) throw new ScheduleNotFoundError(name);
  }

  async resume(name: string): Promise<void> {
    const { cron, timezone } = await this.#find(name);
    const nextMs = new Cron(cron, timezone).next(await readNow(this.#db));
    if (!(await pauseSchedule(this.#db, name, nextMs))) throw new ScheduleNotFoundError(name);
  }

  async run(name: string): Promise<Enqueued> {
    const enqueued = await runSchedule(this.#db, nameOf(name, "name"));
    if (enqueued === undefined) throw new ScheduleNotFoundError(name);
    return enqueued;
  }

  async #find(name: string): Promise<Schedule> {
    const found = await readSchedule(this.#db, nameOf(name, "name"));
    if (found === undefined) throw new ScheduleNotFoundError(name);
    return found;
  }
}

function runsFrom(cron: Cron, afterMs: number, count: number): Date[] {
  const runs: Date[] = [];
  for (let ms = afterMs; runs.length < count; ) {
    ms = cron.next(ms);
    runs.push(new Date(ms));
  }
  return runs;
}
