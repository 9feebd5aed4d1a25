// The statements about workers: they register, say whether they want to be woken, give back what they do not know, and leave.
import { type Database, prepared, type Statement } from "../../db/database.js";
import { qualify } from "../../db/schema-name.js";

const LISTENING = prepared("select fairmill.listening_v1($1, $2)");

export interface WorkerFacts {
  readonly id: string;
  readonly queues: readonly string[];
  readonly kinds: readonly string[];
  readonly leaseMs: number;
  readonly concurrency: number;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
}

/** To be selected, with `registerValues`. */
export const REGISTER = "fairmill.register_v1($1, $2, $3 * interval '1 millisecond', $4, $5, $6, $7, $8)";

export const registerValues = (worker: WorkerFacts): readonly unknown[] => [
  worker.id,
  worker.queues,
  worker.leaseMs,
  worker.kinds,
  worker.concurrency,
  worker.host,
  worker.pid,
  worker.version,
];

export async function registerWorker(db: Database, worker: WorkerFacts): Promise<void> {
  await db.query(`select ${REGISTER}`, registerValues(worker));
}

/** The heartbeat, for the thread that sends it over a connection of its own: worker, lease in milliseconds, figures. */
export const heartbeatStatement = (db: Database): string =>
  qualify("select * from fairmill.heartbeat_v1($1, $2 * interval '1 millisecond', $3)", db.schema);

export async function setListening(db: Database, worker: string, wanted: boolean): Promise<void> {
  await db.query(LISTENING, [worker, wanted]);
}

/** Releases what the database gave to this worker and its answer did not reach. */
export async function releaseUnknown(db: Database, worker: string, known: readonly string[]): Promise<number> {
  const [row] = await db.query<{ released: number }>("select fairmill.release_unknown_v1($1, $2) as released", [
    worker,
    known,
  ]);
  return row!.released;
}

/** Says goodbye; `released` is how many jobs were still held and went back. */
export const stopStatement = (worker: string): Statement => [
  "select fairmill.stop_worker_v1($1) as released",
  [worker],
];

export async function stopWorker(db: Database, worker: string): Promise<number> {
  const [row] = await db.query<{ released: number }>(...(stopStatement(worker) as [string, unknown[]]));
  return row!.released;
}

/** Ids of this worker's running jobs with a cancel request. */
export async function cancelRequests(db: Database, worker: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    "select id from fairmill.job where cancel_requested_at is not null and worker = $1",
    [worker],
  );
  return rows.map((row) => row.id);
}
