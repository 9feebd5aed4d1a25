// Small notices that something moved, for open dashboards: one look at the database's own counters in a process, for all listeners, and none where
// there is no listener. What moved is read again by the screen that shows it.
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import type { Session } from "../db/session.js";
import { readRecentBulks, type StoredBulk } from "./rooms.js";

export const EVERY_MS = 2_000;
/** Where so many jobs a second come or go, figures are read and no single jobs: a look costs the fleet more there, and tells no more. */
const BUSY_PER_SECOND = 1_000;
const BUSY_EVERY_MS = 5_000;
const BEAT_MS = 15_000;
const LISTENERS_MAX = 200;

/** By table: the views that show it. */
const TOPICS: Readonly<Record<string, string>> = {
  job: "jobs",
  worker: "workers",
  limit_setting: "limits",
  batch: "batches",
  outbox: "outbox",
  schedule: "schedules",
  credit_entry: "credits",
  bulk_action: "bulk",
  audit_event: "audit",
  alert: "alerts",
  // A row a round of alerts: charts follow at that pace, not at that of jobs.
  fleet_sample: "series",
};
/** What a credential of one tenant may hear of. */
const OF_ONE_TENANT = new Set(["jobs", "batches", "outbox", "schedules", "bulk", "series"]);

/** PostgreSQL counts what is written to a table, near enough and for nothing. */
const LOOK = `select c.relname::text as table, (s.n_tup_ins + s.n_tup_upd + s.n_tup_del)::text as writes, s.n_tup_ins::text as inserts
  from pg_stat_user_tables s join pg_class c on c.oid = s.relid
  where s.schemaname = $1 and (c.relname = any ($2) or c.relname like 'job\\_history\\_%')`;
/** The last transaction that wrote anything: the counters of a quiet session lag behind by up to ten seconds, this does not. */
const NEWEST = `select last_value::text as newest, clock_timestamp() as at, pg_snapshot_xmax(pg_current_snapshot())::text as written from fairmill.job_id_seq`;

/** When to look again, after so many jobs came or went in so long. */
export const paceMs = (moved: number, ms: number): number =>
  moved * 1000 > BUSY_PER_SECOND * ms ? BUSY_EVERY_MS : EVERY_MS;

export interface Change {
  readonly at: Date;
  readonly topics: readonly string[];
  readonly jobs: { readonly newest: string; readonly entered: number; readonly ended: number } | null;
}

export interface Listener {
  readonly tenant: string | undefined;
  change(change: Change): void;
  bulk(bulk: StoredBulk): void;
  beat(): void;
}

interface Seen {
  readonly writes: ReadonlyMap<string, string>;
  readonly ended: number;
  readonly newest: string;
  readonly at: Date;
  readonly written: string;
  /** By id: when each moved last. */
  readonly bulks: ReadonlyMap<string, number>;
}

export class EventHub {
  readonly #db: Session;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners = new Set<Listener>();
  #seen: Seen | undefined;
  #stop: (() => void) | undefined;
  #beatAtMs = 0;
  #nextMs = EVERY_MS;
  #isClosed = false;
  /** For tests: how often the database was asked. */
  looks = 0;

  constructor(db: Session, clock: Clock, logger: Logger) {
    this.#db = db;
    this.#clock = clock;
    this.#logger = logger;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Returns what ends the listening; undefined: there are too many already. */
  listen(listener: Listener): (() => void) | undefined {
    if (this.#listeners.size >= LISTENERS_MAX || this.#isClosed) return undefined;
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#schedule(0);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      this.#seen = undefined;
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#stop?.();
    this.#listeners.clear();
  }

  #schedule(ms: number): void {
    this.#stop = this.#clock.after(ms, () => {
      void this.#look().then(() => {
        if (this.#listeners.size > 0 && !this.#isClosed) this.#schedule(this.#nextMs);
      });
    });
  }

  async #look(): Promise<void> {
    try {
      this.looks++;
      const before = this.#seen;
      const seen = await this.#read();
      const bulks = before?.written === seen.written ? undefined : await readRecentBulks(this.#db);
      const movedAt = bulks && new Map(bulks.map(({ id, updatedAt }) => [id, updatedAt.getTime()]));
      this.#seen = { ...seen, bulks: movedAt ?? before!.bulks };
      if (before !== undefined) this.#tell(before, seen);
      for (const bulk of before === undefined ? [] : (bulks ?? []))
        if (before!.bulks.get(bulk.id) !== bulk.updatedAt.getTime()) this.#tellBulk(bulk);
    } catch (error) {
      // Listeners hear of it when the database is back.
      this.#logger.debug({ err: error }, "no look for changes");
    }
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#beatAtMs < BEAT_MS) return;
    this.#beatAtMs = nowMs;
    for (const listener of this.#listeners) listener.beat();
  }

  async #read(): Promise<Seen> {
    const rows = await this.#db.query<{ table: string; writes: string; inserts: string }>(LOOK, [
      this.#db.schema,
      Object.keys(TOPICS),
    ]);
    const [newest] = await this.#db.query<Pick<Seen, "newest" | "at" | "written">>(NEWEST);
    const history = rows.filter(({ table }) => table.startsWith("job_history_"));
    const ended = history.reduce((sum, { inserts }) => sum + Number(inserts), 0);
    return { ...newest!, writes: new Map(rows.map(({ table, writes }) => [table, writes])), ended, bulks: new Map() };
  }

  #tell(before: Seen, now: Seen): void {
    const topics = Object.entries(TOPICS)
      .filter(([table]) => before.writes.get(table) !== now.writes.get(table))
      .map(([, topic]) => topic);
    const entered = Number(BigInt(now.newest) - BigInt(before.newest));
    const ended = Math.max(0, now.ended - before.ended);
    this.#nextMs = paceMs(entered + ended, now.at.getTime() - before.at.getTime());
    if ((entered > 0 || ended > 0 || before.written !== now.written) && !topics.includes("jobs")) topics.push("jobs");
    if (topics.length === 0) return;
    const jobs = topics.includes("jobs") ? { newest: now.newest, entered, ended } : null;
    for (const listener of this.#listeners) {
      const own = listener.tenant === undefined ? topics : topics.filter((topic) => OF_ONE_TENANT.has(topic));
      if (own.length > 0)
        listener.change({ at: now.at, topics: own, jobs: listener.tenant === undefined ? jobs : null });
    }
  }

  #tellBulk(bulk: StoredBulk): void {
    for (const listener of this.#listeners)
      if (listener.tenant === undefined || listener.tenant === bulk.tenant) listener.bulk(bulk);
  }
}
