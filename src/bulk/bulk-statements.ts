// The statements about bulk actions: storing one, its next step, reading it.
import type { Session } from "../db/session.js";
import type { BulkActionName } from "./bulk-filter.js";

export type BulkState = "running" | "done" | "stopped" | "failed";

/** A bulk action as it is stored. */
export interface StoredBulk {
  readonly id: string;
  readonly action: BulkActionName;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly actor: string;
  readonly tenant: string | null;
  readonly reason: string | null;
  readonly state: BulkState;
  readonly afterId: string;
  readonly upToId: string;
  readonly seen: number;
  readonly changed: number;
  readonly skipped: number;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly endedAt: Date | null;
}

export interface NewBulk {
  readonly action: BulkActionName;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly actor: string;
  /** The only tenant whose jobs may be touched. */
  readonly tenant: string | undefined;
  readonly reason: string | undefined;
}

const COLUMNS = `id, action, filter, actor, tenant, reason, state, after_id as "afterId", up_to_id as "upToId", seen::float8 as seen,
  changed::float8 as changed, skipped::float8 as skipped, error, created_at as "createdAt", updated_at as "updatedAt", ended_at as "endedAt"`;
const ONE = `select ${COLUMNS} from fairmill.bulk_action where id = $1`;
const PAGE = `select ${COLUMNS} from fairmill.bulk_action
  where ($1::text is null or state = $1) and ($2::text is null or tenant = $2) and ($3::bigint is null or id < $3) order by id desc limit $4`;
/** The newest, and whatever is under way. */
const RECENT = `select ${COLUMNS} from fairmill.bulk_action where id in (
  (select id from fairmill.bulk_action order by id desc limit 20) union all (select id from fairmill.bulk_action where state = 'running' order by id limit 20))`;
const OPEN = "select id::text as id from fairmill.bulk_action where state = 'running' order by id limit 20";
/** The oldest that no process has stepped for a while. */
const ABANDONED = `select id::text as id from fairmill.bulk_action where state = 'running'
  and updated_at < clock_timestamp() - $1 * interval '1 millisecond' order by id limit 1`;
const START = "select fairmill.start_bulk_v1($1, $2, $3, $4, $5) as id";
const STEP = "select state, changed from fairmill.step_bulk_v1($1, $2)";
const END = "select fairmill.end_bulk_v1($1, $2, $3) as state";
const PREVIEW = "select * from fairmill.preview_bulk_v1($1, $2, $3, $4)";

export async function startBulk(db: Session, bulk: NewBulk): Promise<string> {
  const values = [bulk.action, JSON.stringify(bulk.filter), bulk.actor, bulk.tenant ?? null, bulk.reason ?? null];
  return (await db.query<{ id: string }>(START, values))[0]!.id;
}

export type StepAnswer = { readonly state: BulkState | "busy" | "not_found"; readonly changed: number };

export const stepBulk = async (db: Session, id: string, jobsMax: number): Promise<StepAnswer> =>
  (await db.query<StepAnswer>(STEP, [id, jobsMax]))[0]!;

export async function endBulk(
  db: Session,
  id: string,
  state: "stopped" | "failed" | "running",
  error?: string,
): Promise<BulkState | "not_found"> {
  return (await db.query<{ state: BulkState | "not_found" }>(END, [id, state, error ?? null]))[0]!.state;
}

export const readBulk = async (db: Session, id: string): Promise<StoredBulk | undefined> =>
  (await db.query<StoredBulk>(ONE, [id]))[0];

export const readBulks = (
  db: Session,
  page: { state?: string | undefined; tenant?: string | undefined; before?: string | undefined; limit: number },
): Promise<StoredBulk[]> =>
  db.query<StoredBulk>(PAGE, [page.state ?? null, page.tenant ?? null, page.before ?? null, page.limit]);

/** Those that may have moved lately, for listeners. */
export const readRecentBulks = (db: Session): Promise<StoredBulk[]> => db.query<StoredBulk>(RECENT);

export const readOpenBulks = async (db: Session): Promise<string[]> =>
  (await db.query<{ id: string }>(OPEN)).map(({ id }) => id);

export const readAbandonedBulk = async (db: Session, abandonedMs: number): Promise<string | undefined> =>
  (await db.query<{ id: string }>(ABANDONED, [abandonedMs]))[0]?.id;

export interface Previewed {
  readonly fitting: number;
  readonly seen: number;
  readonly last_id: string;
  readonly more: boolean;
  readonly groups: readonly { state: string; kind: string; error_code: string | null; count: number }[];
  readonly samples: readonly string[];
}

export const previewStep = async (
  db: Session,
  action: BulkActionName,
  filter: Readonly<Record<string, unknown>>,
  jobsMax: number,
  after: string,
): Promise<Previewed> => (await db.query<Previewed>(PREVIEW, [action, JSON.stringify(filter), jobsMax, after]))[0]!;
