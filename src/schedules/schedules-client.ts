// `client.schedules`: jobs by the clock, declared by code at every start, listed, paused, run on request.
import { createHash } from "node:crypto";
import { canonicalJson } from "../base/canonical-json.js";
import type { Duration } from "../base/duration.js";
import { ConfigError, ScheduleNotFoundError } from "../base/errors.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { FlowDefinition } from "../batches/flow.js";
import { flowText, type NewFlow } from "../batches/flow-statements.js";
import { newFlow } from "../batches/new-flow.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { jobText } from "../core/enqueue/enqueue-statements.js";
import { type EnqueueOptions, newJob } from "../core/enqueue/make-job.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import { type JobDefinition, refuseReserved } from "../core/job/job-definition.js";
import { checkNamePage } from "../limits/name-page.js";
import type { NamePage } from "../limits/overview-statements.js";
import { changeSchedule, type ScheduleChange, type ScheduleChanged } from "./change-schedule.js";
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

interface TickOptions extends CronSpec {
  /** What becomes of ticks that were missed; default "once". */
  readonly missed?: Missed;
  /** Default: as it is, and a new one is not. */
  readonly paused?: boolean;
}

export interface ScheduleOptions<In = unknown>
  extends TickOptions,
    Pick<EnqueueOptions, "tenant" | "priority" | "key"> {
  readonly job: JobDefinition<In, unknown>;
  readonly input: In;
  /** Jobs start up to this long after their tick, each tick at a time of its own; default: at once. */
  readonly jitter?: Duration;
}

/** A schedule whose ticks start flows. */
export interface FlowScheduleOptions<In = unknown> extends TickOptions, Pick<EnqueueOptions, "tenant" | "priority"> {
  readonly flow: FlowDefinition<In>;
  readonly input: In;
}

/** What declaring a schedule came to. */
export interface Scheduled {
  readonly outcome: "created" | "changed" | "same";
  /** null while it is paused. */
  readonly nextRun: Date | null;
}

const KNOWN = [
  "cron",
  "timezone",
  "job",
  "flow",
  "input",
  "tenant",
  "priority",
  "key",
  "missed",
  "jitter",
  "paused",
] as const;
const KNOWN_OF_FLOWS = ["cron", "timezone", "flow", "input", "tenant", "priority", "missed", "paused"] as const;
const RUNS_MAX = 1_000;

const isOfFlow = <In>(options: ScheduleOptions<In> | FlowScheduleOptions<In>): options is FlowScheduleOptions<In> =>
  readable("options", "schedules.set", () => typeof options === "object" && options !== null && "flow" in options);

function checkPaused(paused: unknown, where: string): void {
  if (paused !== undefined && typeof paused !== "boolean")
    throw new ConfigError("paused", `${where}: paused: ${showValue(paused)} is neither true nor false.`);
}

export class Schedules {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** Declares a schedule. The same again changes nothing, so call it at every start, from every process. */
  set<In>(name: string, options: ScheduleOptions<In> | FlowScheduleOptions<In>): Promise<Scheduled> {
    const context = this.#context;
    return context.call(async () => {
      const { cron, definition } = isOfFlow(options)
        ? await this.#checkFlow(nameOf(name, "name"), options)
        : await this.#check(nameOf(name, "name"), options);
      if (!isOfFlow(options)) await context.rules.tell(options.job);
      const known = await readFingerprint(context, name);
      // Most declarations say what is known: they write nothing.
      const outcome =
        known.fingerprint === definition.fingerprint
          ? "same"
          : await setSchedule(context, definition, cron.next(known.nowMs));
      return { outcome, nextRun: (await readSchedule(context, name))?.nextRun ?? null };
    });
  }

  /**
   * Changes parts of a schedule by hand. The same declaration at the next start leaves the change alone; another one replaces it. A tick that is due is not
   * lost by a change of something else than its time.
   */
  change<In = unknown>(name: string, change: ScheduleChange<In>): Promise<ScheduleChanged> {
    return this.#context.call(async () => changeSchedule(this.#context, name, change));
  }

  async #check<In>(
    name: string,
    options: ScheduleOptions<In>,
  ): Promise<{ cron: Cron; definition: ScheduleDefinition }> {
    const where = `schedules.set(${showValue(name)})`;
    const { codec, chain } = this.#context;
    if (typeof options !== "object" || options === null)
      throw new ConfigError("options", `${where}: pass an object, like { cron: "0 3 * * *", job, input: {} }.`);
    refuseUnknown(options, KNOWN, where);
    const { job, input, tenant, priority, key, paused } = options;
    if (!readable("job", where, () => typeof job?.kind === "string"))
      throw new ConfigError("job", `${where}: job must be what defineJob(…) returned.`);
    refuseReserved(job.kind, where);
    checkPaused(paused, where);
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
    const { input: given, options: wanted } = (await chain?.(draft)) ?? draft;
    const plain = await newJob(job, given as In, wanted, undefined);
    const sealed = codec === undefined ? plain : await newJob(job, given as In, wanted, codec);
    const settings = { cron: cron.expression, timezone: cron.timezone, missedMax, jitterMs, paused };
    const fingerprint = this.#fingerprintOf(jobText(plain), plain, { name, ...settings });
    return { cron, definition: { name, ...settings, job: jobText(sealed), fingerprint } };
  }

  async #checkFlow<In>(
    name: string,
    options: FlowScheduleOptions<In>,
  ): Promise<{ cron: Cron; definition: ScheduleDefinition }> {
    const where = `schedules.set(${showValue(name)})`;
    refuseUnknown(options, KNOWN_OF_FLOWS, where);
    const { flow, input, tenant, priority, paused } = options;
    checkPaused(paused, where);
    const cron = new Cron(options.cron, options.timezone);
    const how = { ...(tenant === undefined ? {} : { tenant }), ...(priority === undefined ? {} : { priority }) };
    const { codec, chain, rules } = this.#context;
    // Two, as of a job: what was said, and what is stored.
    const makers = { contents: undefined, chain, rules };
    const plain = await newFlow({ ...makers, codec: undefined }, flow, input, how);
    const stored = codec === undefined ? plain : await newFlow({ ...makers, codec }, flow, input, how);
    const settings = {
      ...{ cron: cron.expression, timezone: cron.timezone, paused },
      ...{ missedMax: checkMissed(options.missed), jitterMs: 0 },
    };
    const job = (one: NewFlow) =>
      `${JSON.stringify({ kind: one.name, tenant: one.tenant }).slice(0, -1)},"flow":${flowText(one)}}`;
    const fingerprint = this.#fingerprintOf(
      job(plain),
      { kind: plain.name, tenant: plain.tenant },
      { name, ...settings },
    );
    return { cron, definition: { name, ...settings, job: job(stored), fingerprint } };
  }

  /** Of what was said, not of what is stored: a codec seals the same input differently every time. */
  #fingerprintOf(job: string, of: { readonly kind: string; readonly tenant: string }, settings: object): string {
    const text = canonicalJson(`{"settings":${JSON.stringify(settings)},"job":${job}}`);
    // A bare hash of an input that can be guessed gives the input away.
    return this.#context.codec?.fingerprint?.(text, of) ?? createHash("sha256").update(text).digest("hex");
  }

  /** A schedule as it stands; undefined when there is none. */
  get(name: string): Promise<Schedule | undefined> {
    return this.#context.call(async () => readSchedule(this.#context, nameOf(name, "name")));
  }

  /** A page of schedules by name, with their next runs. */
  list(page: NamePage = {}): Promise<Schedule[]> {
    return this.#context.call(async () => readSchedules(this.#context, checkNamePage(page, "schedules.list")));
  }

  /** When a schedule, or an expression that is none yet, ticks next: by the database's clock. */
  next(what: string | CronSpec, count = 5): Promise<Date[]> {
    const context = this.#context;
    return context.call(async () => {
      wholeNumber(count, 1, RUNS_MAX, "count");
      if (typeof what !== "string") {
        refuseUnknown(what, ["cron", "timezone"], "schedules.next");
        return runsFrom(new Cron(what.cron, what.timezone), await readNow(context), count);
      }
      const { cron, timezone, nextRun } = await this.#find(what);
      const nowMs = await readNow(context);
      // One that is due and not done comes first.
      return runsFrom(new Cron(cron, timezone), Math.min(nowMs, (nextRun?.getTime() ?? nowMs) - 1), count);
    });
  }

  /** Makes no more jobs by this schedule. What it would have done until it is resumed is not made up for. */
  pause(name: string): Promise<void> {
    return this.#context.call(async () => {
      if (!(await pauseSchedule(this.#context, nameOf(name, "name"), undefined))) throw new ScheduleNotFoundError(name);
    });
  }

  /** Lets it go on from now. */
  resume(name: string): Promise<void> {
    return this.#context.call(async () => {
      const { cron, timezone } = await this.#find(name);
      const nextMs = new Cron(cron, timezone).next(await readNow(this.#context));
      if (!(await pauseSchedule(this.#context, name, nextMs))) throw new ScheduleNotFoundError(name);
    });
  }

  /** Enqueues the job of a schedule now, or starts its flow, whose id it answers; its ticks stay as they are. */
  run(name: string): Promise<Enqueued> {
    return this.#context.call(async () => {
      const enqueued = await runSchedule(this.#context, nameOf(name, "name"), this.#context.isAlone);
      if (enqueued === undefined) throw new ScheduleNotFoundError(name);
      return enqueued;
    });
  }

  /** Removes a schedule; the jobs that it made stay. False: there was none. */
  remove(name: string): Promise<boolean> {
    return this.#context.call(async () => removeSchedule(this.#context, nameOf(name, "name")));
  }

  async #find(name: string): Promise<Schedule> {
    const found = await readSchedule(this.#context, nameOf(name, "name"));
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
