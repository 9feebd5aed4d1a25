// What the API computes from what it read: where the time of a job went, and what was earned. Pure; no database.
import { expect, test } from "vitest";
import type { Backend } from "../../src/http/backend.js";
import { withMargin } from "../../src/http/provider-readers.js";
import type { Call } from "../../src/http/route.js";
import { attemptsOf, firstStartOf, spentBy } from "../../src/http/routes/job-view.js";
import { together } from "../../src/http/together.js";
import type { JobDetail } from "../../src/jobs/read-jobs.js";

const at = (second: number) => new Date(second * 1_000);

test("a job that slept in a step started before its sleep, and neither the sleep nor what ran before it counts as waiting", () => {
  const job = {
    ...{ state: "done", createdAt: at(0), startedAt: at(50), endedAt: at(52), runAt: at(50), failures: [] },
    ...{ attempt: 1, leaseNo: 1, worker: "w" },
  } as unknown as JobDetail;
  const steps = [
    { kind: "run", startedAt: at(2), finishedAt: at(5) },
    { kind: "sleep", startedAt: at(5), finishedAt: at(50) },
    { kind: "run", startedAt: at(50), finishedAt: at(51) },
  ];
  expect(firstStartOf(job, steps)).toEqual(at(2));
  const facts = { steps, rateLimitedTimes: 0, split: undefined };
  expect(spentBy(job, attemptsOf(job), 99_000, facts)).toMatchObject({
    ...{ waitedMs: 2_000, delayedMs: 0, ranMs: 5_000, sleptMs: 45_000, retriedMs: 0, totalMs: 52_000 },
  });
  const asleep = { ...job, state: "scheduled", startedAt: null, endedAt: null } as JobDetail;
  const pending = [steps[0]!, { ...steps[1]!, finishedAt: null }];
  const soFar = spentBy(asleep, attemptsOf(asleep), 20_000, { ...facts, steps: pending });
  expect(soFar).toMatchObject({ waitedMs: 2_000, ranMs: 3_000, sleptMs: 15_000, retriedMs: 0 });
});

test("a margin needs what a credit is worth, and one currency; nothing is counted twice", () => {
  const row = { key: "acme", captured: 100, providerCost: 1.5, currency: "USD", jobs: 9 };
  expect(withMargin([row], undefined)).toEqual([{ ...row, margin: null }]);
  expect(withMargin([row, { ...row, key: "b", providerCost: null, currency: null }], 0.04)).toMatchObject([
    { key: "acme", margin: 2.5 },
    { key: "b", margin: 4 },
  ]);
  expect(withMargin([row, { ...row, currency: "EUR" }], 0.04)).toMatchObject([
    { captured: 100, margin: null },
    { captured: 0, margin: null },
  ]);
});

test("callers that ask the same at the same moment share one answer, of their tenant alone, and the next one is asked anew", async () => {
  let asked = 0;
  let answer = (_: number) => {};
  const ask = together("now", () => {
    asked++;
    return new Promise<number>((resolve) => {
      answer = resolve;
    });
  });
  const http = {} as Backend;
  const by = (tenant: string | undefined, query: object = {}) =>
    ask({ http, tenant, query } as unknown as Call<unknown, undefined>);
  const [first, second] = [by(undefined), by(undefined)];
  expect(asked).toBe(1);
  answer(1);
  expect(await Promise.all([first, second])).toEqual([1, 1]);
  const others = [by(undefined), by("acme"), by("acme", { by: "kind" })];
  expect(asked).toBe(4);
  answer(4);
  expect(await others[2]).toBe(4);
  const refused = together("time", () => Promise.reject(new Error("no")));
  const call = { http, tenant: undefined, query: {} } as unknown as Call<unknown, undefined>;
  await expect(refused(call)).rejects.toThrow("no");
  await expect(refused(call)).rejects.toThrow("no");
});
