// Batches and flows as the tests call them: plain SQL underneath.
import type pg from "pg";
import { type Asker, type Claimed, claim, type NewRow, settle, type VerdictName } from "../support/sql/calls.js";

export interface Opened extends pg.QueryResultRow {
  readonly id: string;
  readonly hold: string | null;
  readonly stored: number;
  readonly refused: { readonly code: string } | null;
}

export interface NodeSpec {
  readonly name: string;
  readonly after?: readonly number[];
  readonly inside?: number;
  readonly when?: "succeeded" | "settled" | "failed";
  readonly on_failure?: "fail" | "skip" | "continue";
  readonly jobs?: readonly NewRow[];
}

export interface BatchRow extends pg.QueryResultRow {
  readonly id: string;
  readonly name: string | null;
  readonly state: string;
  readonly done: number;
  readonly dead: number;
  readonly cancelled: number;
  readonly failed: number;
  readonly lost: number;
  readonly waits: number;
  readonly success_job: string | null;
  readonly complete_job: string | null;
  readonly death_job: string | null;
  readonly own_job: string | null;
  readonly check_at: Date | null;
}

export const CALLBACKS = { success: { kind: "success" }, complete: { kind: "complete" }, death: { kind: "death" } };

export async function openBatch(ask: Asker, spec: NewRow = {}, jobs: readonly NewRow[] = []): Promise<Opened> {
  const [row] = await ask.query<Opened>("select * from fairmill.open_batch_v1($1, $2)", [
    JSON.stringify(spec),
    JSON.stringify(jobs),
  ]);
  return row!;
}

export async function createFlow(ask: Asker, nodes: readonly NodeSpec[], spec: NewRow = {}): Promise<string> {
  const [row] = await ask.query<{ id: string }>("select id from fairmill.start_flow_v1($1)", [
    JSON.stringify({ ...spec, nodes }),
  ]);
  return row!.id;
}

export async function batchOf(ask: Asker, id: string): Promise<BatchRow> {
  const [row] = await ask.query<BatchRow>("select * from fairmill.batch where id = $1", [id]);
  return row!;
}

export const stateOf = async (ask: Asker, id: string): Promise<string> => (await batchOf(ask, id)).state;

/** The states of a flow's nodes, as "name state", in the order in which they were declared. */
export const nodesOf = async (ask: Asker, flow: string): Promise<string[]> =>
  (await ask.query("select name, state from fairmill.batch where root = $1 and id <> $1 order by id", [flow])).map(
    ({ name, state }) => `${name} ${state}`,
  );

/** Kinds of the live jobs, oldest first. */
export const liveKinds = async (ask: Asker): Promise<string[]> =>
  (await ask.query<{ kind: string }>("select kind from fairmill.job order by id")).map(({ kind }) => kind);

/** Claims every ready job and settles each as `verdictOf` says. Returns their kinds. */
export async function work(
  ask: Asker,
  worker: string,
  verdictOf: (job: Claimed) => VerdictName = () => "done",
): Promise<string[]> {
  const jobs = await claim(ask, worker, 10_000, { tenantMax: 10_000 });
  for (const job of jobs) await settle(ask, worker, [job], verdictOf(job), [{ error: { message: "no" }, delay_ms: 0 }]);
  return jobs.map(({ kind }) => kind);
}
