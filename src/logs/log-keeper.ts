// Keeps what handlers log with their jobs: gathered for a moment, written together, bounded per run, and never in the way of a settle. What goes to
// the logger goes there as well.
import type { Clock } from "../base/clock.js";
import { FairmillError } from "../base/errors.js";
import type { Redactor } from "../base/redact.js";
import type { Service } from "../base/service.js";
import type { Claim } from "../core/job/claim.js";
import { sealJson } from "../core/job/codec.js";
import type { Database } from "../db/database.js";
import { appendLogs, type KeptLevel, type NewLine } from "./log-statements.js";
import { type RunLogSettings, RunLogs } from "./run-logs.js";

const WRITE_EVERY_MS = 500;
/** Lines that wait to be written; when there are more, they are written at once. */
const WAITING_MANY = 2_000;
/** At most this many wait for a database that does not answer; those behind them are dropped. */
const WAITING_MAX = 20_000;
/** Lines of a call: a long one would hold a connection for long. */
const LINES_PER_WRITE = 500;

/** What the keeper needs of its worker. */
export interface LogKeeperContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: RunLogSettings;
  readonly trouble: (doing: string, error: unknown) => void;
}

/** A round writes what was logged. */
export class LogKeeper extends RunLogs implements Service {
  readonly name = "keeping logs";
  readonly retry = { firstMs: WRITE_EVERY_MS, maxMs: 10 * WRITE_EVERY_MS };
  readonly #context: LogKeeperContext;
  /** Texts of jobs that other processes ran. */
  readonly #scrubbed = new WeakMap<Claim, string>();
  #waiting: NewLine[] = [];
  #dropped = 0;
  #wake: (inMs: number) => void = () => {};

  /** `redactors`, by kind: what must not be shown; kinds without are not listed. */
  constructor(context: LogKeeperContext, redactors: ReadonlyMap<string, Redactor>) {
    super(context.settings, redactors);
    this.#context = context;
  }

  connect(wake: (inMs: number) => void): void {
    this.#wake = wake;
  }

  /** The process that ran the job knows secrets that this one does not: the payload lies in a storage. */
  hearScrubbed(claim: Claim, text: string): void {
    this.#scrubbed.set(claim, text);
  }

  override scrub(claim: Claim, text: string): string {
    return this.#scrubbed.get(claim) ?? super.scrub(claim, text);
  }

  override keep(claim: Claim, level: KeptLevel, json: string): void {
    if (this.#waiting.length >= WAITING_MAX) {
      this.#dropped++;
      return;
    }
    const line = this.#sealed(claim, json);
    if (line === undefined) return;
    const at = new Date(this.#context.clock.now()).toISOString();
    this.#waiting.push({ job: claim.id, at, level, attempt: claim.attempt, json: line });
    if (this.#waiting.length === 1) this.#wake(WRITE_EVERY_MS);
    else if (this.#waiting.length === WAITING_MANY) this.#wake(0);
  }

  #sealed(claim: Claim, json: string): string | undefined {
    try {
      return sealJson(this.#context.settings.codec, json, claim, "log");
    } catch (error) {
      this.#context.trouble(this.name, error);
      return undefined;
    }
  }

  /** Called once more when the loop has stopped, so that the last lines are kept. A log is a courtesy: a failed write is reported and not repeated. */
  async runOnce(): Promise<number> {
    const { db, trouble } = this.#context;
    const lines = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < lines.length; from += LINES_PER_WRITE)
      await appendLogs(db, lines.slice(from, from + LINES_PER_WRITE)).catch((error: unknown) =>
        trouble(this.name, error),
      );
    if (this.#dropped > 0)
      trouble(
        this.name,
        new FairmillError(
          "FAIRMILL_LOGS_DROPPED",
          `${this.#dropped} lines of logs were not kept: more than ${WAITING_MAX} waited for the database.`,
        ),
      );
    this.#dropped = 0;
    return Number.POSITIVE_INFINITY;
  }
}
