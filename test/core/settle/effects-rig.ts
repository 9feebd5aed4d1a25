// One job whose handler asks for effects, and the jobs that it asked for.
import { createClient, defineJob, fixed, handle, type JobContext, type WorkerOptions } from "fairmill";
import type { TestDatabase } from "../../support/database.js";
import { endOf, startWorker } from "../../support/jobs.js";

export const parent = defineJob({ kind: "parent", retry: { attempts: 3, backoff: fixed(0) } });
/** In a queue without a worker, so that the children stay. */
export const child = defineJob<{ n: number }>({ kind: "child", queue: "nursery" });

export type Run = (ctx: JobContext) => unknown;
export type Options = Omit<WorkerOptions, "handlers" | "databaseUrl">;

export interface Row {
  readonly n: number;
  readonly tenant: string;
  readonly state: string;
}

export function effectsRig(db: TestDatabase) {
  /** Runs one job with this handler until it has ended. */
  async function ended(run: Run, options: Options = {}, definition = parent) {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(definition, run)], options);
    const { id } = await client.enqueue(definition, {}, { tenant: "acme" });
    return await endOf(client, id);
  }
  const children = () =>
    db.query<Row & Record<string, unknown>>(
      "select (payload ->> 'n')::integer as n, tenant, state from fairmill.job where kind = 'child' order by id",
    );
  const numbers = async () => (await children()).map(({ n }) => n);

  return { ended, children, numbers };
}
