// `client.alerts`: what fires, by which rules, and how it is silenced.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError, FairmillError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { limitOf } from "../base/page.js";
import { ifGiven, nameOf, oneOf, refuseUnknown } from "../base/settings.js";
import type { Database } from "../db/database.js";
import { ALERT, type Alert, readSilences, readStoredRules, type Silence } from "./alert-statements.js";
import type { AlertRule } from "./rule.js";

export interface AlertFilter {
  readonly state?: Alert["state"];
  /** Only alerts with a lower id: the last of the page before. */
  readonly before?: string;
  /** At most 200; default 50. */
  readonly limit?: number;
}

export interface SilenceOptions {
  /** Of which rule; default: every one. */
  readonly rule?: string;
  /** Of which queue, kind, worker …; default: every one. */
  readonly subject?: string;
  readonly for: Duration;
  readonly reason?: string;
  /** Who wants it. */
  readonly actor?: string;
}

const PAGE_MAX = 200;
const SILENCE_MS_MAX = 90 * 86_400_000;
const PAGE = `${ALERT} where ($1::text is null or a.state = $1) and ($2::bigint is null or a.id < $2) order by a.id desc limit $3`;
const SILENCE = `insert into fairmill.alert_silence (rule, subject, until, reason, actor) values ($1, $2, now() + $3 * interval '1 millisecond', $4, $5)
  returning id::text as id, rule, subject, until, reason, actor`;

/** There is no such alert, or it was removed by retention. */
export class AlertNotFoundError extends FairmillError {
  override readonly name = "AlertNotFoundError";
  constructor(id: string) {
    super(
      "FAIRMILL_ALERT_NOT_FOUND",
      `There is no alert ${id}: the id is wrong, or retention removed it. See "fairmill alerts".`,
    );
  }
}

export class Alerts {
  readonly #db: Database;
  readonly #call: <T>(work: () => Promise<T>) => Promise<T>;

  constructor(db: Database, call: <T>(work: () => Promise<T>) => Promise<T>) {
    this.#db = db;
    this.#call = call;
  }

  /** A page of alerts, newest first. */
  list(filter: AlertFilter = {}): Promise<Alert[]> {
    return this.#call(async () => {
      refuseUnknown(filter, ["state", "before", "limit"], "alerts");
      const { state } = ifGiven("state", filter.state, (value) =>
        oneOf(value, ["pending", "firing", "resolved"] as const, "state", "alerts"),
      );
      const { before } = ifGiven("before", filter.before, checkJobId);
      return this.#db.query<Alert>(PAGE, [state ?? null, before ?? null, limitOf(filter.limit, PAGE_MAX)]);
    });
  }

  get(id: string): Promise<Alert> {
    return this.#call(async () => {
      const [alert] = await this.#db.query<Alert>(`${ALERT} where a.id = $1`, [checkJobId(id)]);
      if (alert === undefined) throw new AlertNotFoundError(id);
      return alert;
    });
  }

  /** The rules by which the fleet evaluated last; empty while no worker has. */
  rules(): Promise<AlertRule[]> {
    return this.#call(async () => {
      const stored = await readStoredRules(this.#db);
      return [...(stored?.rules ?? [])];
    });
  }

  /** Changes are still on record, but not sent. What still fires when the silence is over is sent then. */
  silence(options: SilenceOptions): Promise<Silence> {
    return this.#call(async () => {
      refuseUnknown(options, ["rule", "subject", "for", "reason", "actor"], "silence");
      const text = (value: string | undefined, setting: string) =>
        value === undefined ? null : nameOf(value, setting);
      const ms = toMs(options.for, "for");
      if (ms < 1_000 || ms > SILENCE_MS_MAX)
        throw new ConfigError("for", "silence: for must lie between a second and 90 days.");
      const values = [
        text(options.rule, "rule"),
        text(options.subject, "subject"),
        ms,
        text(options.reason, "reason"),
        text(options.actor, "actor"),
      ];
      return (await this.#db.query<Silence>(SILENCE, values))[0]!;
    });
  }

  silences(): Promise<Silence[]> {
    return this.#call(() => this.#db.transaction((tx) => readSilences(tx)));
  }

  /** False: there was none. */
  unsilence(id: string): Promise<boolean> {
    return this.#call(async () => {
      const rows = await this.#db.query(
        "delete from fairmill.alert_silence where id = $1 and until > now() returning id",
        [checkJobId(id)],
      );
      return rows.length > 0;
    });
  }
}
