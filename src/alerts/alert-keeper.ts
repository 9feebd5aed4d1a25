// Evaluates alerts: one process of the fleet at a time, each round once, and every change is written with what is sent of it in one transaction. So a
// message goes out once per change, however many workers there are and whichever of them die.
import type { Bus } from "../base/bus.js";
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import type { Queryable } from "../base/queryable.js";
import type { Service } from "../base/service.js";
import type { Database } from "../db/database.js";
import { type Figures, readFigures } from "../metrics/figures.js";
import { type NewSample, recordRound } from "../metrics/metrics-client.js";
import type { AlertSettings } from "./alert-settings.js";
import {
  type AlertRound,
  type AlertRow,
  beginRound,
  dropPending,
  holdRound,
  isSilenced,
  keyOf,
  type OpenAlert,
  publishChange,
  readOpen,
  readSilences,
  resolveAlerts,
  type Silence,
  storeEvent,
  storeOpen,
  storeRules,
  unhush,
} from "./alert-statements.js";
import { type AlertChange, evaluate, type SubjectState } from "./evaluate.js";
import { messageOf } from "./message.js";
import type { AlertRule } from "./rule.js";
import { samplesOf } from "./samples.js";

/** What the keeper needs of its worker. */
export interface AlertContext {
  readonly db: Database;
  readonly log: Logger;
  readonly identity: { readonly id: string };
  /** For workers: how they learn that another one evaluates. */
  readonly bus?: Bus<AlertNews>;
  readonly clock?: Clock;
}

export interface AlertNews {
  alertsEvaluated: { readonly worker: string };
}

/** So much later than the worker that evaluated last come the others: only if that one does not. */
const STAND_IN_MS = { least: 1_000, spread: 3_000 };

/** The look at the fleet takes at most one part in so many of the time: while an old snapshot is open, it walks over all that cannot be removed. */
const LOOK_PARTS = 20;

/** What is sent of a change. */
export interface ToldChange {
  readonly alert: string;
  readonly change: "fired" | "resolved";
  readonly rule: string;
  readonly subject: string;
  readonly severity: AlertRule["severity"];
  readonly value: number;
  readonly threshold: number;
  readonly unit: string;
  readonly message: string;
  readonly since: string;
}

/** A round of the service is one of the fleet, if no other worker has begun it. */
export class AlertKeeper implements Service {
  readonly name = "evaluating alerts";
  readonly retry = { firstMs: 1_000, maxMs: 60_000 };
  readonly #context: AlertContext;
  readonly #settings: AlertSettings;
  #hasStoredRules = false;
  /** Until then another worker evaluates. */
  #coveredUntilMs = Number.NEGATIVE_INFINITY;
  /** How long the last look took. */
  #lookMs = 0;

  constructor(context: AlertContext, settings: AlertSettings) {
    this.#context = context;
    this.#settings = settings;
  }

  connect(): void {
    const { bus, clock, identity } = this.#context;
    bus?.on("alertsEvaluated", ({ worker }) => {
      if (worker === identity.id || !clock) return;
      const laterMs = STAND_IN_MS.least + STAND_IN_MS.spread * clock.random();
      this.#coveredUntilMs = clock.monotonic() + this.#everyMs + laterMs;
    });
  }

  /** Not at the start: a process that has just begun knows no more than others. */
  async runOnce(_signal: AbortSignal, isOnTime: boolean): Promise<number> {
    const coveredMs = this.#coveredUntilMs - (this.#context.clock?.monotonic() ?? 0);
    if (isOnTime && coveredMs > 0) return coveredMs;
    if (isOnTime) await this.evaluate();
    return this.#everyMs;
  }

  get #everyMs(): number {
    return Math.max(this.#settings.everyMs, LOOK_PARTS * this.#lookMs);
  }

  /** Evaluates, if it is time and no other process does it. Returns what has changed; undefined: it was not this one's turn. */
  async evaluate(everyMs = this.#everyMs): Promise<readonly ToldChange[] | undefined> {
    const { db, identity, clock } = this.#context;
    // A little early is better than every second time: workers do not wake on the same beat.
    const round = await beginRound(db, identity.id, everyMs * 0.9);
    if (round === undefined) return undefined;
    const fromMs = clock?.monotonic() ?? 0;
    const figures = await readFigures(db);
    this.#lookMs = (clock?.monotonic() ?? 0) - fromMs;
    const told = this.#isAsBefore(round, figures)
      ? []
      : await db.transaction((tx) => this.#write(tx, round.round, figures));
    if (told === undefined) return undefined;
    this.#hasStoredRules = true;
    for (const change of told) this.#tell(change);
    await recordRound(db, fleetSamples(round, figures));
    return told;
  }

  /** Nothing is open, nothing begins, and the rules on record are this worker's: there is nothing to write. */
  #isAsBefore({ before, isOpen }: AlertRound, figures: Figures): boolean {
    if (isOpen || !this.#hasStoredRules || before !== this.#context.identity.id) return false;
    const samples = samplesOf(figures);
    const nowMs = figures.at.getTime();
    return this.#settings.rules.every((rule) => {
      const { state, changes } = evaluate(rule, samples[rule.metric], new Map(), nowMs);
      return state.size === 0 && changes.length === 0;
    });
  }

  async #write(tx: Queryable, round: string, figures: Figures): Promise<ToldChange[] | undefined> {
    if (!(await holdRound(tx, round))) return undefined;
    const open = await readOpen(tx);
    const silences = await readSilences(tx);
    const samples = samplesOf(figures);
    const nowMs = figures.at.getTime();
    const { rules, channels } = this.#settings;
    await storeRules(tx, rules, channels);
    const rows: AlertRow[] = [];
    const changed: { rule: AlertRule; change: AlertChange; state: SubjectState | undefined }[] = [];
    for (const rule of rules) {
      const before = new Map(
        open.filter((one) => one.rule === rule.name).map(({ subject, state }) => [subject, state]),
      );
      const { state, changes } = evaluate(rule, samples[rule.metric], before, nowMs);
      for (const [subject, now] of state)
        rows.push({ rule, subject, state: now, message: messageOf(rule, subject, now) });
      for (const change of changes)
        changed.push({
          rule,
          change,
          state: state.get(change.subject) ?? before.get(change.subject),
        });
    }
    const ids = await storeOpen(tx, rows);
    for (const one of open) ids.set(keyOf(one.rule, one.subject), one.id);
    await this.#close(tx, open, rows);
    const told: ToldChange[] = [];
    for (const { rule, change, state } of changed) {
      const alert = ids.get(keyOf(rule.name, change.subject))!;
      const isHushed = isSilenced(silences, rule.name, change.subject);
      if (!(await storeEvent(tx, alert, change.change, change.value, isHushed)) || isHushed) continue;
      told.push(toldOf(alert, rule, change, state!, nowMs));
    }
    told.push(...(await this.#unhushed(tx, open, rows, silences)));
    for (const change of told)
      for (const channel of this.#settings.channels)
        await publishChange(tx, channel, `alert:${change.alert}:${change.change}`, change);
    return told;
  }

  /** What is neither pending nor fires any more, and what no rule speaks of any more. */
  async #close(tx: Queryable, open: readonly OpenAlert[], rows: readonly AlertRow[]): Promise<void> {
    const still = new Set(rows.map(({ rule, subject }) => keyOf(rule.name, subject)));
    const over = open.filter(({ rule, subject }) => !still.has(keyOf(rule, subject)));
    await dropPending(
      tx,
      over.filter(({ state }) => state.phase === "pending").map(({ id }) => id),
    );
    await resolveAlerts(
      tx,
      over.filter(({ state }) => state.phase === "firing").map(({ id }) => id),
    );
  }

  /** A silence is over, and the alert still fires: now it is told. */
  async #unhushed(
    tx: Queryable,
    open: readonly OpenAlert[],
    rows: readonly AlertRow[],
    silences: readonly Silence[],
  ): Promise<ToldChange[]> {
    const told: ToldChange[] = [];
    for (const one of open) {
      const row = rows.find(({ rule, subject }) => rule.name === one.rule && subject === one.subject);
      if (!one.isHushed || row?.state.phase !== "firing" || isSilenced(silences, one.rule, one.subject)) continue;
      await unhush(tx, one.id);
      told.push(
        toldOf(
          one.id,
          row.rule,
          { subject: row.subject, change: "fired", value: row.state.value },
          row.state,
          row.state.sinceMs,
        ),
      );
    }
    return told;
  }

  #tell(change: ToldChange): void {
    const { severity, change: what, message, ...facts } = change;
    const level = what === "resolved" || severity === "info" ? "info" : severity === "warning" ? "warn" : "error";
    this.#context.log[level](facts, what === "fired" ? `Alert: ${message}` : `Alert is over: ${message}`);
  }
}

/** Lines over time that no interval record has: of the whole fleet, once a round. */
function fleetSamples({ lastId, lastIdBefore, beforeMs }: AlertRound, { workers, outbox }: Figures): NewSample[] {
  const one = (name: string, value: number): NewSample => ({
    name: `fleet.${name}`,
    label: "",
    count: 1,
    sum: value,
    max: value,
  });
  const isKnown = lastIdBefore !== null && beforeMs !== null && beforeMs > 500 && lastId >= lastIdBefore;
  return [
    one("workers", workers.length),
    one(
      "capacity",
      workers.reduce((sum, { capacity }) => sum + capacity, 0),
    ),
    one("outbox_lag_ms", outbox.oldestMs),
    one("job_ids", lastId),
    ...(isKnown ? [one("jobs_in", ((lastId - lastIdBefore) / beforeMs) * 1000)] : []),
  ];
}

const toldOf = (
  alert: string,
  rule: AlertRule,
  { subject, change, value }: AlertChange,
  state: SubjectState,
  nowMs: number,
): ToldChange => ({
  alert,
  change,
  rule: rule.name,
  subject,
  severity: rule.severity,
  value,
  threshold: rule.above,
  unit: rule.unit,
  message: messageOf(rule, subject, state),
  since: new Date(Math.min(nowMs, state.sinceMs)).toISOString(),
});
