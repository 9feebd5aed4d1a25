// A supervisor with real child processes, for tests, and the table by which their handlers tell what they do.
import type { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { createClient, defineJob, type EnqueueOptions, type SupervisorOptions } from "fairmill";
import { Supervisor, type SupervisorEvents } from "fairmill/pool";
import { afterEach, beforeEach } from "vitest";
import { type TestDatabase, useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitForEvent, waitUntil } from "../support/wait.js";

export const MODULE = fileURLToPath(new URL("./pool-module.mjs", import.meta.url));

export interface Rig {
  readonly db: TestDatabase;
  /** `stuckMs`: a part of its worker that has not succeeded for so long is stuck. */
  start(options?: Partial<SupervisorOptions>, stuckMs?: number): Promise<Supervisor>;
  enqueue(kind: string, input?: unknown, options?: EnqueueOptions): Promise<string>;
  /** Which processes have run the job, in their order. */
  pidsOf(job: string): Promise<number[]>;
  runs(job: string, times?: number): Promise<number[]>;
  letGo(job?: string): Promise<void>;
  /** The row of a job that has ended. */
  ended(job: string): Promise<Ended>;
}

export interface Ended {
  readonly state: string;
  readonly result: Record<string, unknown> | null;
  readonly error: { code?: string; message: string } | null;
  readonly crashes: number;
  readonly attempt: number;
  readonly failures: { outcome: string; error: { code: string; message: string } }[] | null;
}

export function useRig(): Rig {
  const db = useDatabase();
  const running = new Set<Supervisor>();
  const end = async () => {
    for (const supervisor of running) await supervisor.stop({ grace: 0 });
    running.clear();
  };
  endAfterTest(end);
  afterEach(end);
  beforeEach(async () => {
    process.env["TEST_POOL_URL"] = db.url;
    await db.query("create table if not exists public.said (n serial, job bigint, pid integer, what text)");
    await db.query("create table if not exists public.word (job bigint)");
    await db.query("delete from public.said; delete from public.word");
  });
  const rig: Rig = {
    db,
    start: async (options = {}, stuckMs) => {
      const supervisor = new Supervisor(
        {
          module: MODULE,
          databaseUrl: db.url,
          ...options,
          worker: { minInstances: 2, healthCheckInterval: "200ms", scaleInterval: "10m", ...options.worker },
        },
        stuckMs === undefined ? {} : { stuckMs },
      );
      running.add(supervisor);
      return supervisor.start();
    },
    enqueue: async (kind, input = {}, options = {}) => {
      const client = createClient({ databaseUrl: db.url });
      try {
        return (await client.enqueue(defineJob({ kind }), input, options)).id;
      } finally {
        await client.close();
      }
    },
    pidsOf: async (job) =>
      (await db.query<{ pid: number }>("select pid from public.said where job = $1 order by n", [job])).map(
        ({ pid }) => pid,
      ),
    runs: (job, times = 1) =>
      waitUntil(`job ${job} was run ${times} times`, async () => {
        const pids = await rig.pidsOf(job);
        return pids.length >= times ? pids : undefined;
      }),
    letGo: async (job = "0") => void (await db.query("insert into public.word values ($1)", [job])),
    ended: (job) =>
      waitUntil(
        `job ${job} has ended`,
        async () => (await db.query<Ended>("select * from fairmill.job_history where id = $1", [job]))[0],
      ),
  };
  return rig;
}

export const servingOf = (supervisor: Supervisor) =>
  supervisor.children().filter(({ state, draining }) => (state === "ready" || state === "working") && !draining);

/** Resolves when so many children can be given jobs. */
export const servingAtLeast = (supervisor: Supervisor, count: number) =>
  waitUntil(`${count} children are ready`, () => {
    const serving = servingOf(supervisor);
    return serving.length >= count ? serving : undefined;
  });

/** Resolves with the first event that fits. */
export function heard<Name extends keyof SupervisorEvents>(
  supervisor: Supervisor,
  name: Name,
  matches: (value: SupervisorEvents[Name][0]) => boolean = () => true,
): Promise<SupervisorEvents[Name][0]> {
  const emitter = supervisor.events as unknown as EventEmitter<Record<string, unknown[]>>;
  return waitForEvent(emitter, name, matches as (value: unknown) => boolean) as Promise<SupervisorEvents[Name][0]>;
}
