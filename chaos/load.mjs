// Enqueues at a steady rate, whatever becomes of it, and keeps what was acknowledged. A call without an answer is neither stored nor lost: unknown.
import { createClient } from "fairmill";
import { DatabaseError } from "fairmill/errors";
import { pick, sleep } from "./dice.mjs";
import { jobs } from "./jobs.mjs";

export const TENANTS = Array.from({ length: 12 }, (_, n) => `t${n}`);
/** At most so many jobs of this tenant run at once. */
export const CAPPED = { tenant: "t0", maxRunning: 3 };
/** It has so much of the load, so that its cap matters. */
const CAPPED_SHARE = 0.15;
const USERS = 6;
const GRANT = 1_000_000_000;
const PAGES = 4;
const CALL_MS = 100;

export class Load {
  /** By id: its kind. */
  acknowledged = new Map();
  /** Calls whose answer did not come, and how many jobs each was for. */
  unknown = { calls: 0, jobs: 0 };
  /** Errors that no fault explains: there must be none. */
  refused = [];
  batches = 0;
  #client;
  #random;
  #perCall;

  constructor({ databaseUrl, random, jobsPerSecond }) {
    this.#client = createClient({ databaseUrl, connectionsMax: 4 });
    this.#random = random;
    this.#perCall = (jobsPerSecond * CALL_MS) / 1_000;
  }

  async prepare() {
    await this.#client.migrate();
    await this.#client.tenants.set(CAPPED.tenant, { maxRunning: CAPPED.maxRunning });
    for (let n = 0; n < USERS; n++)
      await this.#client.credits.grant(`user ${n}`, GRANT, { idempotencyKey: `grant ${n}` });
  }

  /** Until the signal aborts. A call that takes long does not hold the next one up. */
  async run(signal) {
    const calls = new Set();
    let due = 0;
    while (!signal.aborted) {
      due += this.#perCall;
      for (; due >= 1; due--) {
        const call = this.#call().finally(() => calls.delete(call));
        calls.add(call);
      }
      await sleep(CALL_MS, signal);
    }
    await Promise.all(calls);
  }

  async #call() {
    const random = this.#random;
    const kind = pick(random, ["mail", "mail", "flaky", "fatal", "paid", "stepped", "keyed", "booked", "batch"]);
    const tenant = random() < CAPPED_SHARE ? CAPPED.tenant : pick(random, TENANTS);
    const input = { user: `user ${Math.floor(random() * USERS)}`, fails: Math.floor(random() * 3) };
    const delay = random() < 0.2 ? { delay: Math.floor(random() * 1_000) } : {};
    try {
      if (kind === "batch") return await this.#batch(tenant, input);
      const { id } = await this.#client.enqueue(jobs[kind], input, { tenant, ...delay });
      this.acknowledged.set(id, kind);
    } catch (error) {
      // Only a database that is away leaves a call uncertain; any other error is a refusal that nothing here asks for.
      if (!(error instanceof DatabaseError)) this.refused.push(`${kind}: ${error?.message}`);
      this.unknown.calls++;
      this.unknown.jobs += kind === "batch" ? PAGES : 1;
    }
  }

  async #batch(tenant, input) {
    await this.#client.batches.create({ onComplete: { job: jobs.bound, input, tenant } }, async (batch) => {
      for (let n = 0; n < PAGES; n++) await batch.add(jobs.page, input, { tenant });
    });
    this.batches++;
  }

  close() {
    return this.#client.close();
  }
}
