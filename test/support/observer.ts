// A session that looks at committed states all the time, over a connection of its own, and remembers the worst that it saw.
import pg from "pg";

export interface Observer {
  /** The most that were running at once, by name. */
  readonly most: ReadonlyMap<string, number>;
  readonly looks: number;
  stop(): Promise<void>;
}

/** After each look: without it, the observer would take a core from the fleet, which shall be as fast as it can. */
const PAUSE_MS = 5;

/** Counts running jobs by a column of theirs until it is stopped. One statement is one snapshot. */
export async function observeRunning(url: string, by: "tenant" | "queue" | "kind" | "limit_key"): Promise<Observer> {
  const client = new pg.Client({ connectionString: url, application_name: "observer" });
  await client.connect();
  const most = new Map<string, number>();
  let looks = 0;
  let isStopped = false;
  const look = async () => {
    while (!isStopped) {
      const { rows } = await client.query(
        `select ${by} as name, count(*)::integer as count from fairmill.job where state = 'running' group by 1`,
      );
      for (const { name, count } of rows) most.set(name, Math.max(count, most.get(name) ?? 0));
      looks++;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  const looking = look();
  return {
    most,
    get looks() {
      return looks;
    },
    async stop() {
      isStopped = true;
      await looking;
      await client.end();
    },
  };
}
