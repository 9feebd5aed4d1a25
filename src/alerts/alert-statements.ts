// The statements about alerts: whose round it is, what stands, what changes, what is silenced.
import type { Queryable } from "../base/queryable.js";
import type { Database } from "../db/database.js";
import type { AlertChange, SubjectState } from "./evaluate.js";
import type { AlertRule } from "./rule.js";
import type { Severity } from "./rule-settings.js";

// Tells other workers, which need not ask then, and reads what decides whether the round has anything to write.
const BEGIN = `with before as materialized (select x.worker from fairmill.alert_round x), begun as (
    update fairmill.alert_round r set round_no = r.round_no + 1, begun_at = clock_timestamp(), worker = $1
    where r.begun_at <= clock_timestamp() - $2 * interval '1 millisecond' and exists (select from fairmill.alert_round x for update skip locked)
    returning r.round_no::text as round)
  select begun.round, (select b.worker from before b) as before, exists (select from fairmill.alert a where a.state <> 'resolved') as "isOpen",
    s.last_value::float8 as "lastId", p.sum as "lastIdBefore", extract(epoch from clock_timestamp() - p.at)::float8 * 1000 as "beforeMs",
    pg_notify($3, '!alerts ' || $1)::text
  from begun cross join fairmill.job_id_seq s
  left join lateral (select x.sum, x.at from fairmill.metric_sample x where x.name = 'fleet.job_ids' and x.at > now() - interval '5 minutes'
    order by x.at desc limit 1) p on true`;

export interface AlertRound {
  /** Its number. */
  readonly round: string;
  /** The worker that began the round before it. */
  readonly before: string | null;
  /** There are alerts that are pending or fire. */
  readonly isOpen: boolean;
  /** The newest id of a job, and at the last sample: what came in between, near enough. */
  readonly lastId: number;
  readonly lastIdBefore: number | null;
  readonly beforeMs: number | null;
}

/** The round, where it is time for one and no other process has begun it. */
export async function beginRound(db: Database, worker: string, everyMs: number): Promise<AlertRound | undefined> {
  return (await db.query<AlertRound>(BEGIN, [worker, everyMs, db.schema]))[0];
}

/** Locks the round; false when another one has begun since. */
export async function holdRound(tx: Queryable, round: string): Promise<boolean> {
  const { rows } = await tx.query("select round_no::text as round from fairmill.alert_round for update");
  return (rows[0] as { round: string } | undefined)?.round === round;
}

export interface OpenAlert {
  readonly id: string;
  readonly rule: string;
  readonly subject: string;
  readonly state: SubjectState;
  /** Its firing is on record, but a silence kept it from being sent. */
  readonly isHushed: boolean;
}

const OPEN = `select a.id::text as id, a.rule, a.subject, a.state, extract(epoch from a.since)::float8 * 1000 as since_ms,
    extract(epoch from a.clear_since)::float8 * 1000 as clear_ms, a.value, a.message,
    coalesce((select e.silenced from fairmill.alert_event e where e.alert_id = a.id and e.change = 'fired'), false) as hushed
  from fairmill.alert a where a.state <> 'resolved' limit 10000`;

export async function readOpen(tx: Queryable): Promise<OpenAlert[]> {
  const { rows } = await tx.query(OPEN);
  return (rows as OpenRow[]).map((row) => ({
    id: row.id,
    rule: row.rule,
    subject: row.subject,
    isHushed: row.hushed,
    state: {
      phase: row.state,
      sinceMs: row.since_ms,
      clearSinceMs: row.clear_ms ?? undefined,
      value: row.value,
      detail: undefined,
    },
  }));
}

interface OpenRow {
  readonly id: string;
  readonly rule: string;
  readonly subject: string;
  readonly state: "pending" | "firing";
  readonly since_ms: number;
  readonly clear_ms: number | null;
  readonly value: number;
  readonly hushed: boolean;
}

export interface AlertRow {
  readonly rule: AlertRule;
  readonly subject: string;
  readonly state: SubjectState;
  readonly message: string;
}

const STORE = `insert into fairmill.alert as a (rule, subject, severity, state, message, value, threshold, unit, since, fired_at, clear_since)
  select x.rule, x.subject, x.severity, x.state, x.message, x.value, x.threshold, x.unit, to_timestamp(x.since_ms / 1000),
    case when x.state = 'firing' then now() end, to_timestamp(x.clear_ms / 1000)
  from jsonb_to_recordset($1) as x (rule text, subject text, severity text, state text, message text, value float8, threshold float8, unit text,
    since_ms float8, clear_ms float8)
  on conflict (rule, subject) where state <> 'resolved' do update set severity = excluded.severity, state = excluded.state, message = excluded.message,
    value = excluded.value, threshold = excluded.threshold, unit = excluded.unit, fired_at = coalesce(a.fired_at, excluded.fired_at), clear_since = excluded.clear_since
  returning a.id::text as id, a.rule, a.subject`;

/** What is pending or fires, by rule and subject; the ids of their rows. */
export async function storeOpen(tx: Queryable, alerts: readonly AlertRow[]): Promise<Map<string, string>> {
  if (alerts.length === 0) return new Map();
  const given = alerts.map(({ rule, subject, state, message }) => ({
    rule: rule.name,
    subject,
    severity: rule.severity,
    state: state.phase,
    message,
    value: state.value,
    threshold: rule.above,
    unit: rule.unit,
    since_ms: state.sinceMs,
    clear_ms: state.clearSinceMs ?? null,
  }));
  const { rows } = await tx.query(STORE, [JSON.stringify(given)]);
  return new Map(
    (rows as { id: string; rule: string; subject: string }[]).map(({ id, rule, subject }) => [
      keyOf(rule, subject),
      id,
    ]),
  );
}

export const keyOf = (rule: string, subject: string): string => JSON.stringify([rule, subject]);

export async function resolveAlerts(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0)
    await tx.query(
      "update fairmill.alert set state = 'resolved', resolved_at = now(), clear_since = null where id = any ($1) and state = 'firing'",
      [ids],
    );
}

/** Pending ones that came to nothing leave nothing. */
export async function dropPending(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query("delete from fairmill.alert where id = any ($1) and state = 'pending'", [ids]);
}

/** False: it was on record already. */
export async function storeEvent(
  tx: Queryable,
  alert: string,
  change: AlertChange["change"],
  value: number,
  silenced: boolean,
): Promise<boolean> {
  const { rows } = await tx.query(
    "insert into fairmill.alert_event (alert_id, change, value, silenced) values ($1, $2, $3, $4) on conflict (alert_id, change) do nothing returning id",
    [alert, change, value, silenced],
  );
  return rows.length > 0;
}

export async function unhush(tx: Queryable, alert: string): Promise<void> {
  await tx.query("update fairmill.alert_event set silenced = false where alert_id = $1 and change = 'fired'", [alert]);
}

export interface Silence {
  readonly id: string;
  readonly rule: string | null;
  readonly subject: string | null;
  readonly until: Date;
  readonly reason: string | null;
  readonly actor: string | null;
}

const SILENCES =
  "select id::text as id, rule, subject, until, reason, actor from fairmill.alert_silence where until > now() order by id limit 1000";

export async function readSilences(tx: Queryable): Promise<Silence[]> {
  return (await tx.query(SILENCES)).rows as Silence[];
}

export const isSilenced = (silences: readonly Silence[], rule: string, subject: string): boolean =>
  silences.some((one) => (one.rule ?? rule) === rule && (one.subject ?? subject) === subject);

/** For those who only look or stand in: the rules by which the last round was evaluated, each with the channels to which changes went. */
export async function storeRules(
  tx: Queryable,
  rules: readonly AlertRule[],
  channels: readonly string[],
): Promise<void> {
  await tx.query("delete from fairmill.alert_rule where name <> all ($1)", [rules.map(({ name }) => name)]);
  await tx.query(
    `insert into fairmill.alert_rule as r (name, settings) select x ->> 'name', x from jsonb_array_elements($1) x
     on conflict (name) do update set settings = excluded.settings, changed_at = now() where r.settings <> excluded.settings`,
    [JSON.stringify(rules.map((rule) => ({ ...rule, channels })))],
  );
}

type StoredRule = AlertRule & { readonly channels?: readonly string[] };

/** undefined: none was ever evaluated. */
export async function readStoredRules(
  db: Database,
): Promise<{ readonly rules: readonly AlertRule[]; readonly channels: readonly string[] } | undefined> {
  const rows = await db.query<{ settings: StoredRule }>("select settings from fairmill.alert_rule order by name");
  if (rows.length === 0) return undefined;
  const rules = rows.map(({ settings: { channels: _, ...rule } }) => ({ ...rule, only: rule.only ?? undefined }));
  return { rules, channels: rows[0]!.settings.channels ?? [] };
}

export async function publishChange(tx: Queryable, channel: string, key: string, payload: object): Promise<void> {
  await tx.query("select id from fairmill.publish_v1($1, $2, idempotency_key => $3)", [
    channel,
    JSON.stringify(payload),
    key,
  ]);
}

export interface Alert {
  readonly id: string;
  readonly rule: string;
  readonly severity: Severity;
  readonly state: "pending" | "firing" | "resolved";
  readonly subject: string;
  readonly message: string;
  readonly value: number;
  readonly threshold: number;
  readonly unit: string;
  readonly since: Date;
  readonly firedAt: Date | null;
  readonly resolvedAt: Date | null;
  readonly silencedUntil: Date | null;
  readonly silencedBy: string | null;
}

export const ALERT = `select a.id::text as id, a.rule, a.severity, a.state, a.subject, a.message, a.value, a.threshold, a.unit, a.since,
    a.fired_at as "firedAt", a.resolved_at as "resolvedAt", s.until as "silencedUntil", s.actor as "silencedBy"
  from fairmill.alert a
  left join lateral (select x.until, x.actor from fairmill.alert_silence x
    where x.until > now() and coalesce(x.rule, a.rule) = a.rule and coalesce(x.subject, a.subject) = a.subject order by x.until desc limit 1) s on true`;
