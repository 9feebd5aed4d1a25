// The statements about logs of jobs: append lines, read a page.
import type { Database } from "../db/database.js";
import { idOf, type RowId, type RowTime, type Session, timeOf } from "../db/session.js";

export const KEPT_LEVELS = ["debug", "info", "warn", "error"] as const;
export type KeptLevel = (typeof KEPT_LEVELS)[number];

/** Of one job, over all its attempts. */
export const LOG_LINES_MAX = 1_000;
export const LOG_BYTES_MAX = 256 * 1024;

export interface NewLine {
  readonly job: string;
  readonly at: string;
  readonly level: KeptLevel;
  readonly attempt: number;
  /** {"message", "fields"} as JSON, sealed where there is a codec. */
  readonly json: string;
}

export async function appendLogs(db: Database, lines: readonly NewLine[]): Promise<void> {
  const json = lines.map(
    ({ job, at, level, attempt, json }) =>
      `{"job":${job},"at":"${at}","level":"${level}","attempt":${attempt},"line":${json}}`,
  );
  await db.query("select fairmill.append_logs_v1($1, $2, $3)", [`[${json.join()}]`, LOG_LINES_MAX, LOG_BYTES_MAX]);
}

export interface StoredLine {
  readonly id: string;
  readonly at: Date;
  readonly level: KeptLevel;
  readonly attempt: number;
  readonly line: unknown;
}

const PAGE = `select l.id, l.at, l.level, l.attempt, l.line from fairmill.job_log l
  where l.job_id = $1 and l.id > $2 and l.level = any ($3) order by l.id limit $4`;

type Row = Omit<StoredLine, "id" | "at"> & { readonly id: RowId; readonly at: RowTime };

export async function readLogs(
  session: Session,
  job: string,
  page: { readonly after: string; readonly levels: readonly KeptLevel[]; readonly limit: number },
): Promise<StoredLine[]> {
  const rows = await session.query<Row>(PAGE, [job, page.after, page.levels, page.limit]);
  return rows.map(({ id, at, ...line }) => ({ ...line, id: idOf(id), at: timeOf(at) }));
}
