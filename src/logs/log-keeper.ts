// Keeps what handlers log with their jobs: gathered for a moment, written together, bounded per run, and never in the way of a settle. What goes to
// the logger goes there as well.
import type { Clock } from "../base/clock.js";
import { recordError } from "../base/error-record.js";
import { FairmillError } from "../base/errors.js";
import { cleanText, serializeResult } from "../base/json-content.js";
import type { Logger } from "../base/log.js";
import { createRedactor, type Redactor, withoutSecrets } from "../base/redact.js";
import type { Service } from "../base/service.js";
import type { Claim } from "../core/job/claim.js";
import { type Codec, openJson, sealJson } from "../core/job/codec.js";
import type { Database } from "../db/database.js";
import {
  appendLogs,
  KEPT_LEVELS,
  type KeptLevel,
  LOG_BYTES_MAX,
  LOG_LINES_MAX,
  type NewLine,
} from "./log-statements.js";

const WRITE_EVERY_MS = 500;
/** Lines that wait to be written; when there are more, they are written at once. */
const WAITING_MANY = 2_000;
/** So many wait for a database that does not answer; those behind them are dropped. */
const WAITING_MAX = 20_000;
const MESSAGE_CHARS_MAX = 4_000;
const FIELDS_BYTES_MAX = 16_000;
/** Lines of a call: a long one would hold a connection for long. */
const LINES_PER_WRITE = 500;

/** What the keeper needs of its worker. */
export interface LogKeeperContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: {
    /** Lines below it only go to the logger; undefined: nothing is kept. */
    readonly keepLogs: KeptLevel | undefined;
    readonly codec: Codec | undefined;
  };
  readonly trouble: (doing: string, error: unknown) => void;
}

/** A round writes what was logged. */
export class LogKeeper implements Service {
  readonly name = "keeping logs";
  readonly retry = { firstMs: WRITE_EVERY_MS, maxMs: 10 * WRITE_EVERY_MS };
  readonly #context: LogKeeperContext;
  readonly #redactors: ReadonlyMap<string, Redactor>;
  #waiting: NewLine[] = [];
  #dropped = 0;
  #wake: (inMs: number) => void = () => {};

  /** `redactors`, by kind: what must not be shown; kinds without are not listed. */
  constructor(context: LogKeeperContext, redactors: ReadonlyMap<string, Redactor>) {
    this.#context = context;
    this.#redactors = redactors;
  }

  connect(wake: (inMs: number) => void): void {
    this.#wake = wake;
  }

  /** The logger of one run. Made when a handler first asks for it. */
  loggerOf(claim: Claim, logger: Logger): Logger {
    const redactor = this.#redactors.get(claim.kind) ?? NO_REDACTOR;
    if (this.#context.settings.keepLogs === undefined && !redactor.isActive) return logger;
    return new RunLog(claim, this, redactor).over(logger, {});
  }

  isKept(level: KeptLevel): boolean {
    const { keepLogs: least } = this.#context.settings;
    return least !== undefined && KEPT_LEVELS.indexOf(level) >= KEPT_LEVELS.indexOf(least);
  }

  /** The text of a job without the secrets of its payload. */
  scrub(claim: Claim, text: string): string {
    const redactor = this.#redactors.get(claim.kind);
    return redactor === undefined ? text : withoutSecrets(text, redactor.secretsIn(this.payloadOf(claim)));
  }

  /** What a run's payload says in clear, to look for secrets in; undefined where it cannot be opened. */
  payloadOf(claim: Claim): unknown {
    try {
      return openJson(this.#context.settings.codec, claim.payload, claim, "payload");
    } catch {
      return undefined;
    }
  }

  keep(claim: Claim, level: KeptLevel, json: string): void {
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

const NO_REDACTOR = createRedactor([]);

/** What all loggers of one run share: how much of it was kept, and what must not be shown. */
class RunLog {
  readonly #claim: Claim;
  readonly #keeper: LogKeeper;
  readonly #redactor: Redactor;
  #lines = 0;
  #bytes = 0;
  #secrets: readonly string[] | undefined;

  constructor(claim: Claim, keeper: LogKeeper, redactor: Redactor) {
    this.#claim = claim;
    this.#keeper = keeper;
    this.#redactor = redactor;
  }

  over(logger: Logger, bound: Readonly<Record<string, unknown>>): Logger {
    const at = (level: KeptLevel) => (facts: object, message?: string) =>
      this.#line(logger, bound, level, facts, message);
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      child: (bindings) => {
        const shown = this.#redactor.isActive ? this.#redacted(fieldsOf(bindings)) : bindings;
        return this.over(logger.child(shown), { ...bound, ...shown });
      },
      ...(logger.isLevelEnabled && { isLevelEnabled: (level) => this.#isWanted(logger, level) }),
    };
  }

  #isWanted(logger: Logger, level: string): boolean {
    const isKept = (KEPT_LEVELS as readonly string[]).includes(level) && this.#keeper.isKept(level as KeptLevel);
    return isKept || logger.isLevelEnabled?.(level) !== false;
  }

  #line(
    logger: Logger,
    bound: Readonly<Record<string, unknown>>,
    level: KeptLevel,
    facts: object,
    message?: string,
  ): void {
    // Loggers take a lone text in place of facts, whatever the type says.
    const [given, text] = typeof facts === "string" ? [{}, facts as string] : [facts, message];
    if (!this.#redactor.isActive) {
      logger[level](facts, message);
      if (this.#keeper.isKept(level)) this.#keep(level, { ...bound, ...fieldsOf(given) }, text);
      return;
    }
    const shown = this.#redacted(fieldsOf(given));
    const said = text === undefined ? undefined : withoutSecrets(String(text), this.#known);
    logger[level](shown, said);
    if (this.#keeper.isKept(level)) this.#keep(level, { ...bound, ...shown }, said);
  }

  get #known(): readonly string[] {
    this.#secrets ??= this.#redactor.secretsIn(this.#keeper.payloadOf(this.#claim));
    return this.#secrets;
  }

  #redacted(fields: Record<string, unknown>): Record<string, unknown> {
    return withoutSecrets(this.#redactor.value(fields), this.#known);
  }

  /** One line more than is kept of a job may leave, so that the database says that there were more. */
  #keep(level: KeptLevel, fields: Record<string, unknown>, text: string | undefined): void {
    if (this.#lines > LOG_LINES_MAX || this.#bytes > LOG_BYTES_MAX) return;
    const message = cleanText(String(text ?? fields["msg"] ?? "").slice(0, MESSAGE_CHARS_MAX));
    const { json = "{}" } = serializeResult(fields);
    const kept = json.length > FIELDS_BYTES_MAX ? `{"dropped":"${json.length} characters of fields"}` : json;
    const line = `{"message":${JSON.stringify(message)},"fields":${kept}}`;
    this.#lines++;
    this.#bytes += Buffer.byteLength(line);
    this.#keeper.keep(this.#claim, level, line);
  }
}

/** Facts as plain JSON: errors by their records, and whatever cannot be read left out. A line must never fail. */
function fieldsOf(facts: unknown): Record<string, unknown> {
  try {
    if (facts instanceof Error) return { err: recordError(facts) };
    if (typeof facts !== "object" || facts === null) return {};
    const plain = Object.entries(facts).map(([name, value]) => [
      name,
      value instanceof Error ? recordError(value) : value,
    ]);
    const { json } = serializeResult(Object.fromEntries(plain));
    return json === undefined ? {} : (JSON.parse(json) as Record<string, unknown>);
  } catch {
    return {};
  }
}
