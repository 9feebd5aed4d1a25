// Looks at the database while the programme runs, and asks it afterwards. A crash of PostgreSQL interrupts it; then a look has no answer.
import pg from "pg";
import { sleep } from "./dice.mjs";

const LOOK_MS = 250;
const LOOK = `
  select (select count(*)::integer from fairmill.job j where j.state = 'ready') as depth,
    coalesce((select max(extract(epoch from clock_timestamp() - j.started_at)) * 1000 from fairmill.job j where j.state = 'running'), 0)::float8 as "lockedMs",
    (select count(*)::integer from (select idempotency_key from fairmill.channel_outbox group by 1 having count(*) > 1) d) as duplicates`;

export class Observer {
  #pool;
  looks = [];

  constructor(databaseUrl) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 2, application_name: "chaos observer" });
    this.#pool.on("error", () => {});
  }

  /** Undefined: the database did not answer. */
  async ask(text, values) {
    try {
      return (await this.#pool.query(text, values)).rows;
    } catch {
      return undefined;
    }
  }

  /** Throws where `ask` would say nothing. */
  async query(text, values) {
    return (await this.#pool.query(text, values)).rows;
  }

  async run(signal) {
    const fromMs = performance.now();
    while (!signal.aborted) {
      const rows = await this.ask(LOOK);
      if (rows !== undefined) this.looks.push({ atMs: performance.now() - fromMs, ...rows[0] });
      await sleep(LOOK_MS, signal);
    }
  }

  close() {
    return this.#pool.end();
  }
}
