// The statements about files of payloads and results: which have lost their jobs.
import { idOf, type RowId, type Session } from "../db/session.js";

export interface GoneContent {
  readonly key: string;
  readonly jobId: string;
  /** No other job has the file. */
  readonly isLast: boolean;
}

const CHECK = `select key, job_id as "jobId", is_last as "isLast", looked from fairmill.check_contents_v1($1, $2, $3)`;
const FORGET = "select fairmill.forget_contents_v1($1, $2, $3)";
const UNKNOWN = "select fairmill.unknown_contents_v1($1, $2) as keys";

export async function checkContents(
  db: Session,
  storage: string,
  rowsMax: number,
  keepMs: number,
): Promise<{ gone: GoneContent[]; looked: number }> {
  const rows = await db.query<{ key: string | null; jobId: RowId; isLast: boolean; looked: number }>(CHECK, [
    storage,
    rowsMax,
    keepMs,
  ]);
  const gone = rows.flatMap(({ key, jobId, isLast }) => (key === null ? [] : [{ key, jobId: idOf(jobId), isLast }]));
  return { gone, looked: rows[0]?.looked ?? 0 };
}

export async function forgetContents(db: Session, storage: string, gone: readonly GoneContent[]): Promise<void> {
  await db.query(FORGET, [storage, gone.map(({ key }) => key), gone.map(({ jobId }) => jobId)]);
}

export const unknownContents = async (db: Session, storage: string, keys: readonly string[]): Promise<string[]> =>
  (await db.query<{ keys: string[] }>(UNKNOWN, [storage, keys]))[0]!.keys;
