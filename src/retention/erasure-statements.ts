// The statements about erasing tenants: beginning, the next step, reading the record.
import type { Session } from "../db/session.js";

export type ErasureState = "running" | "done" | "failed";

/** The record of a tenant's erasure. Once it is done it has no name. */
export interface Erasure {
  readonly id: string;
  /** Null once it is done. */
  readonly tenant: string | null;
  /** SHA-256 of the tenant's name, hexadecimal. */
  readonly tenantDigest: string;
  readonly actor: string;
  readonly reason: string | null;
  readonly state: ErasureState;
  /** What it is at: jobs, fence, tables, files, done. */
  readonly phase: string;
  /** By table: rows that were removed, or lost their name; and files. */
  readonly counts: Readonly<Record<string, number>>;
  /** Storages whose files are still to be removed. */
  readonly storages: readonly string[];
  readonly filePrefix: string | null;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly endedAt: Date | null;
}

export interface NewErasure {
  readonly tenant: string;
  readonly actor: string;
  readonly reason: string | undefined;
  readonly account: string | undefined;
  readonly cachePrefix: string | undefined;
  readonly filePrefix: string | undefined;
  readonly storages: readonly string[];
}

const COLUMNS = `id, tenant, tenant_digest as "tenantDigest", actor, reason, state, phase, counts, storages, file_prefix as "filePrefix", error,
  created_at as "createdAt", updated_at as "updatedAt", ended_at as "endedAt"`;
const ONE = `select ${COLUMNS} from fairmill.tenant_erasure where id = $1`;
const PAGE = `select ${COLUMNS} from fairmill.tenant_erasure
  where ($1::text is null or tenant_digest = $1) and ($2::bigint is null or id < $2) order by id desc limit $3`;
const START = "select fairmill.start_erasure_v1($1, $2, $3, $4, $5, $6, $7) as id";
const STEP = "select state, phase from fairmill.step_erasure_v1($1, $2)";
const FILES = "select fairmill.erased_files_v1($1, $2, $3, $4) as state";

export async function startErasure(db: Session, one: NewErasure): Promise<string> {
  const { tenant, actor, reason, account, cachePrefix, filePrefix, storages } = one;
  const values = [tenant, actor, reason ?? null, account ?? null, cachePrefix ?? null, filePrefix ?? null, storages];
  return (await db.query<{ id: string }>(START, values))[0]!.id;
}

export type ErasureStep = ErasureState | "waiting" | "files" | "busy" | "not_found";

export const stepErasure = async (db: Session, id: string, blocksMax: number): Promise<ErasureStep> =>
  (await db.query<{ state: ErasureStep }>(STEP, [id, blocksMax]))[0]!.state;

export async function recordFiles(
  db: Session,
  id: string,
  storage: string,
  files: number,
  isOver: boolean,
): Promise<void> {
  await db.query(FILES, [id, storage, files, isOver]);
}

export const readErasure = async (db: Session, id: string): Promise<Erasure | undefined> =>
  (await db.query<Erasure>(ONE, [id]))[0];

export const readErasures = (
  db: Session,
  page: { tenantDigest?: string | undefined; before?: string | undefined; limit: number },
): Promise<Erasure[]> => db.query<Erasure>(PAGE, [page.tenantDigest ?? null, page.before ?? null, page.limit]);
