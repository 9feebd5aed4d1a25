// Jobs that wait, of a tenant, a queue and a kind.
import { createClient, defineJob } from "fairmill";
import type { TestDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";

export function waitingJobs(db: TestDatabase) {
  async function fill(
    count: number,
    queue: string,
    { delay, tenant = "acme", kind = "k" }: { delay?: "1h"; tenant?: string; kind?: string } = {},
  ): Promise<void> {
    const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
    endAfterTest(() => client.close());
    const job = defineJob<number>({ kind, queue });
    for (let n = 0; n < count; n++) await client.enqueue(job, n, { tenant, ...(delay && { delay }) });
  }

  return { fill };
}
