// Runs jobs that have steps in real workers.
import { createClient, defineJob, fixed, handle, type JobContext } from "fairmill";
import { endOf, startWorker } from "../support/jobs.js";

export const job = defineJob({ kind: "stepped", retry: { attempts: 5, backoff: fixed(0) } });

export type Run = (ctx: JobContext) => unknown;

/** Runs one job with this handler until it has ended. */
export async function runOne(
  db: { readonly url: string },
  run: Run,
  options: Parameters<typeof startWorker>[2] = {},
  definition = job,
) {
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(definition, run)], options);
  const { id } = await client.enqueue(definition, {});
  const found = await endOf(client, id);
  return { ...found, steps: await client.jobs.steps(id) };
}
