// The functions of dead letters as tests call them, and ended jobs for them.
import { expect } from "vitest";
import type { TestDatabase } from "../support/database.js";
import { type Asker, claimLanes, enqueueOne, settle } from "../support/sql/calls.js";

export interface Redriven {
  readonly redriven: number;
  readonly seen: number;
  readonly last_id: string;
  readonly more: boolean;
}

export function redriveCalls(db: TestDatabase) {
  const redrive = async (filter: object, jobsMax = 500, after = "0", ask: Asker = db): Promise<Redriven> =>
    (
      await ask.query<Redriven & Record<string, unknown>>("select * from fairmill.redrive_v1($1, $2, $3)", [
        JSON.stringify(filter),
        jobsMax,
        after,
      ])
    )[0]!;

  const preview = async (filter: object, jobsMax = 10_000) =>
    (await db.query("select * from fairmill.preview_redrive_v1($1, $2)", [JSON.stringify(filter), jobsMax]))[0]!;

  const liveIds = async (): Promise<string[]> =>
    (await db.query<{ id: string }>("select id from fairmill.job order by id")).map(({ id }) => id);

  /** Ended jobs as they lie in the history, past everything that would have brought them there. */
  const bury = async (count: number, columns: Record<string, string> = {}): Promise<string[]> =>
    (
      await db.query<{ id: string }>(
        `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, error)
       select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, $2, $3, $4, $5, now(), $6::timestamptz, '{}', $7::jsonb from generate_series(1, $1) returning id`,
        [
          count,
          columns["state"] ?? "dead",
          columns["queue"] ?? "default",
          columns["tenant"] ?? "default",
          columns["kind"] ?? "work",
          columns["endedAt"] ?? new Date().toISOString(),
          columns["error"] ?? '{"message": "no"}',
        ],
      )
    ).map(({ id }) => id);

  /** One job, run by a worker until it is dead. */
  async function dead(job: object = {}): Promise<string> {
    const id = await enqueueOne(db, { ...job });
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    expect(jobs.map((one) => one.id)).toEqual([id]);
    await settle(db, "w", jobs, "dead", [{ outcome: "failed", error: { message: "no", code: "E_NO" } }]);
    return id;
  }

  return { redrive, preview, liveIds, bury, dead };
}
