// What handlers log, line by line: shown without secrets, bounded per run, and handed on to be kept, by this process or another.
import { recordError } from "../base/error-record.js";
import { cleanText, serializeResult } from "../base/json-content.js";
import type { Logger } from "../base/log.js";
import { createRedactor, type Redactor, withoutSecrets } from "../base/redact.js";
import type { Claim } from "../core/job/claim.js";
import { type Codec, openJson } from "../core/job/codec.js";
import { KEPT_LEVELS, type KeptLevel, LOG_BYTES_MAX, LOG_LINES_MAX } from "./log-statements.js";

const MESSAGE_CHARS_MAX = 4_000;
const FIELDS_BYTES_MAX = 16_000;

export interface RunLogSettings {
  /** Lines below it only go to the logger; undefined: nothing is kept. */
  readonly keepLogs: KeptLevel | undefined;
  readonly codec: Codec | undefined;
}

export abstract class RunLogs {
  readonly #settings: RunLogSettings;
  readonly #redactors: ReadonlyMap<string, Redactor>;

  /** `redactors`, by kind: what must not be shown; kinds without are not listed. */
  constructor(settings: RunLogSettings, redactors: ReadonlyMap<string, Redactor>) {
    this.#settings = settings;
    this.#redactors = redactors;
  }

  /** Takes a line of a run, as JSON, to be kept. */
  abstract keep(claim: Claim, level: KeptLevel, json: string): void;

  /** The logger of one run. Made when a handler first asks for it. */
  loggerOf(claim: Claim, logger: Logger): Logger {
    const redactor = this.#redactors.get(claim.kind) ?? NO_REDACTOR;
    if (this.#settings.keepLogs === undefined && !redactor.isActive) return logger;
    return new RunLog(claim, this, redactor).over(logger, {});
  }

  isKept(level: KeptLevel): boolean {
    const { keepLogs: least } = this.#settings;
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
      return openJson(this.#settings.codec, claim.payload, claim, "payload");
    } catch {
      return undefined;
    }
  }
}

const NO_REDACTOR = createRedactor([]);

/** What all loggers of one run share: how much of it was kept, and what must not be shown. */
class RunLog {
  readonly #claim: Claim;
  readonly #keeper: RunLogs;
  readonly #redactor: Redactor;
  #lines = 0;
  #bytes = 0;
  #secrets: readonly string[] | undefined;

  constructor(claim: Claim, keeper: RunLogs, redactor: Redactor) {
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
