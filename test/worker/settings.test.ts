// Settings of a worker that cannot be meant: each is refused by its name before anything is opened.
import { createWorker, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";

const job = defineJob<{ n: number }>({ kind: "job" });
/** No worker here comes so far as to connect. */
const NO_SERVER = "postgres://localhost:1/none";

test.each<[string, object, RegExp]>([
  ["an unknown one", { concurency: 5 }, /unknown setting "concurency"\. Did you mean "concurrency"/],
  ["no handlers", { handlers: [] }, /pass at least one/],
  ["a handler that is none", { handlers: undefined }, /pass at least one/],
  ["no place", { concurrency: 0 }, /^concurrency: 0/],
  ["a lease too short to renew", { lease: 200 }, /lease: less than 300 ms/],
  ["a heartbeat as long as the lease", { lease: "1s", heartbeat: "600ms" }, /heartbeat: must be at most half/],
  ["a share above a half", { lowerPriorityShare: 0.6 }, /lowerPriorityShare/],
  ["a share that is none", { lowerPriorityShare: Number.NaN }, /lowerPriorityShare/],
  ["a queue without a place", { queues: { a: { concurrency: 0 } } }, /queues\.a\.concurrency/],
  ["a queue with an unknown setting", { queues: { a: { rate: 5 } } }, /queues\.a: unknown setting "rate"/],
  ["no queue", { queues: {} }, /name at least one queue/],
  ["a claim of nothing", { claimJobsMax: 0 }, /^claimJobsMax: 0/],
  ["a claim of too much", { claimJobsMax: 10_001 }, /^claimJobsMax: 10001/],
  ["a tenant that may have nothing", { claimTenantMax: 0 }, /^claimTenantMax: 0/],
  ["half a job of a tenant", { claimTenantMax: 2.5 }, /^claimTenantMax: 2.5/],
  ["no crash allowed", { crashesMax: 0 }, /crashesMax/],
  ["a poll that is no duration", { poll: "often" }, /^poll: "often"/],
  [
    "a queue with a number for its settings",
    { queues: { default: 2 } },
    /^queues\.default: 2 is no object of settings/,
  ],
  ["queues that are a list", { queues: ["mails"] }, /^queues: .* is no object, like/],
  ["a handler that is a bare function", { handlers: [() => 1] }, /^handlers: each must be made by handle/],
  ["a logger that cannot log", { logger: {} }, /^logger: .* has no debug\(\)/],
  ["a logger without children", { logger: console }, /^logger: .* has no child\(\)/],
  ["two handlers for one kind", { handlers: [handle(job, () => 1), handle(job, () => 2)] }, /"job" has two handlers/],
])("%s is refused by name", (_, options, message) => {
  const given = { databaseUrl: NO_SERVER, handlers: [handle(job, () => 1)], ...options };
  expect(() => createWorker(given as never)).toThrow(message);
  expect(() => createWorker(given as never)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG" }));
});
