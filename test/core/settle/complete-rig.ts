// A job whose handler books in a transaction of its own.
import { createClient, defineJob, fixed, handle, type JobContext, type Queryable, type WorkerOptions } from "fairmill";
import type pg from "pg";
import { afterEach, beforeEach } from "vitest";
import type { TestDatabase } from "../../support/database.js";
import { endOf, startWorker } from "../../support/jobs.js";
import { openPool } from "../../support/open-pool.js";
import { waitUntil } from "../../support/wait.js";

export const job = defineJob({ kind: "booked", retry: { attempts: 2, backoff: fixed(0) } });
export const child = defineJob<{ n: number }>({ kind: "child", queue: "nursery" });

export type Options = Omit<WorkerOptions, "handlers" | "databaseUrl">;

export const book = (tx: Queryable, ctx: JobContext) =>
  tx.query("insert into public.booking (job, attempt) values ($1, $2)", [ctx.id, ctx.attempt]);

export function completeRig(db: TestDatabase) {
  let pool: pg.Pool;
  beforeEach(async () => {
    await db.query("create table public.booking (job bigint not null, attempt integer not null)");
    pool = openPool({ connectionString: db.url, application_name: "application" });
  });
  afterEach(async () => {
    await pool.end();
    await db.query("drop table public.booking");
  });

  async function ended(run: (ctx: JobContext) => unknown, options: Options = {}, definition = job) {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(definition, run)], options);
    const { id } = await client.enqueue(definition, {});
    return await endOf(client, id);
  }

  /** A transaction of the application. */
  async function transaction(work: (tx: pg.PoolClient) => Promise<unknown>, begin = "begin"): Promise<void> {
    const tx = await pool.connect();
    try {
      await tx.query(begin);
      await work(tx);
      await tx.query("commit");
    } catch (error) {
      await tx.query("rollback");
      throw error;
    } finally {
      tx.release();
    }
  }
  const bookings = () => db.query("select job, attempt from public.booking order by attempt");
  const children = async () => (await db.query("select from fairmill.job where kind = 'child'")).length;

  /** Resolves when the run of this context was given up or has ended: its attempt failed, says the database, or waits to say so. */
  async function ctxOver(ctx: JobContext): Promise<void> {
    await waitUntil("the settle waits for the open transaction", async () => {
      const rows = await db.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%settle_v1%'",
      );
      return rows.length > 0 || ctx.signal.aborted;
    });
  }

  return { application: () => pool, ended, ctxOver, transaction, bookings, children };
}
