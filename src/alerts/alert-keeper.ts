// Evaluates alerts: one process of the fleet at a time, each round once, and every change is written with what is sent of it in one transaction. So a
// message goes out once per change, however many workers there are and whichever of them die.
import type { Logger } from "../base/log.js";
import type { Queryable } from "../base/queryable.js";
import type { Service } from "../base/service.js";
import type { Database } from "../db/database.js";
import { recordFleet } from "../metrics/backlog.js";
import { type Figures, readFigures } from "../metrics/figures.js";
import { type NewSample, recordSamples } from "../metrics/metrics-client.js";
import type { AlertSettings } from "./alert-settings.js";
import {
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
}

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

  constructor(context: AlertContext, settings: AlertSettings) {
    this.#context = context;
    this.#settings = settings;
  }

  /** Not at the start: a process that has just begun knows no more than others. */
  async runOnce(_signal: AbortSignal, isOnTime: boolean): Promise<number> {
    if (isOnTime) await this.evaluate();
    return this.#settings.everyMs;
  }

  /** Evaluates, if it is time and no other process does it. Returns what has changed; undefined: it was not this one's turn. */
  async evaluate(everyMs = this.#settings.everyMs): Promise<readonly ToldChange[] | undefined> {
    const { db, identity } = this.#context;
    // A little early is better than every second time: workers do not wake on the same beat.
    const round = await beginRound(db, identity.id, everyMs * 0.9);
    if (round === undefined) return undefined;
    const figures = await readFigures(db);
    const told = await db.transaction((tx) => this.#write(tx, round, figures));
    if (told === undefined) return undefined;
    for (const change of told) this.#tell(change);
    await recordSamples(db, await this.#fleetSamples(figures));
    await recordFleet(db);
    return told;
  }

  async #write(tx: Queryable, round: string, figures: Figures): Promise<ToldChange[] | undefined> {
    if (!(await holdRound(tx, round))) return undefined;
    const open = await readOpen(tx);
    const silences = await readSilences(tx);
    const samples = samplesOf(figures);
    const nowMs = figures.at.getTime();
    const { rules } = this.#settings;
    await storeRules(tx, rules);
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

  /** Lines over time that no interval record has: of the whole fleet, once a round. */
  async #fleetSamples({ workers, outbox, at }: Figures): Promise<NewSample[]> {
    const [ids] = await this.#context.db.query<{ last: number; before: number | null; before_at: Date | null }>(
      JOB_IDS,
    );
    const one = (name: string, value: number): NewSample => ({
      name: `fleet.${name}`,
      label: "",
      count: 1,
      sum: value,
      max: value,
    });
    const passedS = ids?.before_at ? (at.getTime() - ids.before_at.getTime()) / 1000 : 0;
    const perSecond =
      ids && ids.before !== null && passedS > 0.5 && ids.last >= ids.before
        ? (ids.last - ids.before) / passedS
        : undefined;
    return [
      one("workers", workers.length),
      one(
        "capacity",
        workers.reduce((sum, { capacity }) => sum + capacity, 0),
      ),
      one("outbox_lag_ms", outbox.oldestMs),
      ...(ids ? [one("job_ids", ids.last)] : []),
      ...(perSecond === undefined ? [] : [one("jobs_in", perSecond)]),
    ];
  }
}

/** How many ids were given out, and how many the last time: what came in between, near enough. */
const JOB_IDS = `select s.last_value::float8 as last, p.sum as before, p.at as before_at from fairmill.job_id_seq s
  left join lateral (select x.sum, x.at from fairmill.metric_sample x where x.name = 'fleet.job_ids' and x.at > now() - interval '5 minutes'
    order by x.at desc limit 1) p on true`;

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
