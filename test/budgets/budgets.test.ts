// Budgets in real workers: calls at the edge of a budget, jobs that wait for it, cheaper providers beyond the soft threshold.
import { createClient, createWorker, defineJob, defineProvider, type Handler, handle, silentLogger } from "fairmill";
import { BudgetExhaustedError } from "fairmill/errors";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitForEvent, waitUntil } from "../support/wait.js";

const db = useDatabase();

const cheap = defineProvider({ name: "cheap", cost: 0.01 });
const dear = defineProvider({ name: "dear", cost: 0.1, fallback: cheap });
const only = defineProvider({ name: "only", cost: 0.1 });

const start = (handlers: Handler[], concurrency = 10) =>
  createWorker({ databaseUrl: db.url, handlers, concurrency, logger: silentLogger, grace: "5s" }).start();

const newClient = () => createClient({ databaseUrl: db.url });

const spentOf = async (client: ReturnType<typeof newClient>) =>
  (await client.budgets.get({ tenant: "acme", per: "month" }))?.spent;

test("many workers at the edge make no call too many; what is left waits unspent, says why, and goes on at once when the budget is raised", async () => {
  const paint = defineJob<object>({ kind: "paint", needs: [only], retry: { attempts: 1 } });
  await using client = newClient();
  await client.budgets.set({ tenant: "acme", per: "month", hard: 1 });
  await client.enqueueMany(
    paint,
    Array.from({ length: 40 }, () => ({ input: {}, tenant: "acme" })),
  );
  let made = 0;
  const paints = () =>
    handle(paint, (ctx) =>
      ctx.call(only, () => {
        made++;
      }),
    );
  const workers = await Promise.all(Array.from({ length: 4 }, () => start([paints()])));
  await using _ = { [Symbol.asyncDispose]: async () => void (await Promise.all(workers.map((one) => one.stop()))) };
  await waitUntil("the budget is spent, and the rest waits", async () => {
    const rows = await db.query<{ state: string }>("select state from fairmill.job");
    return rows.length === 30 && rows.every(({ state }) => state === "ready") ? true : undefined;
  });
  expect(made).toBe(10);
  expect(await spentOf(client)).toBe(1);
  const [waiting] = await db.query<{ id: string }>("select id::text as id from fairmill.job limit 1");
  const why = (await client.why(waiting!.id))!.checks.find(({ passed }) => !passed);
  expect(why).toMatchObject({ check: "budget" });
  expect(why!.reason).toMatch(/^The budget of acme for \w+ \d+ is spent: 1.0 of 1 USD/);
  const refusal = await client.enqueue(paint, {}, { tenant: "acme" }).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(BudgetExhaustedError);
  expect(refusal).toMatchObject({ code: "FAIRMILL_BUDGET_EXHAUSTED", tenant: "acme", spent: 1, hard: 1 });
  // Others are not concerned.
  await client.result((await client.enqueue(paint, {}, { tenant: "calm" })).id);
  expect(made).toBe(11);

  const claimed = Promise.race(workers.map((worker) => waitForEvent(worker.events, "claimed")));
  await client.budgets.set({ tenant: "acme", per: "month", hard: 4 });
  await claimed;
  await waitUntil("all are done", async () =>
    (await db.query("select from fairmill.job")).length === 0 ? true : undefined,
  );
  expect(made).toBe(41);
  expect(await spentOf(client)).toBe(4);
  const attempts = await db.query<{ attempt: number }>("select distinct attempt from fairmill.job_history");
  expect(attempts).toEqual([{ attempt: 1 }]);
});

test("a kind that calls without saying so is started, put back unspent, and then left alone like the others", async () => {
  const secret = defineJob<object>({ kind: "secret", retry: { attempts: 1 } });
  await using client = newClient();
  await client.budgets.set({ tenant: "acme", per: "month", hard: 0.15 });
  await using _ = await start([handle(secret, (ctx) => ctx.call(only, () => "made"))], 1);
  const first = await client.enqueue(secret, {}, { tenant: "acme" });
  await client.result(first.id);
  const second = await client.enqueue(secret, {}, { tenant: "acme" });
  await waitUntil("it waits for the budget", async () =>
    (await client.why(second.id))?.checks.some(({ check, passed }) => check === "budget" && !passed) ? true : undefined,
  );
  await expect(client.enqueue(secret, {}, { tenant: "acme" })).rejects.toThrow(BudgetExhaustedError);
  await client.budgets.remove({ tenant: "acme", per: "month" });
  expect(await client.result(second.id)).toBe("made");
});

test("beyond the soft threshold the cheaper provider goes first, and the handler sees it; where no room is left for the dear one, it goes on", async () => {
  const paint = defineJob<object, string>({ kind: "paint", needs: [dear] });
  await using client = newClient();
  await client.budgets.set({ tenant: "acme", per: "month", soft: 0.2 });
  await using _ = await start(
    [handle(paint, (ctx) => ctx.call(dear, ({ provider, budget }) => `${provider.name} ${budget}`))],
    1,
  );
  const run = async (tenant = "acme") => client.result((await client.enqueue(paint, {}, { tenant })).id);
  expect(await run()).toBe("dear within");
  // The one that would come to the threshold is the first that is cheaper.
  expect(await run()).toBe("cheap within");
  for (let n = 0; n < 9; n++) await run();
  expect(await run()).toBe("cheap soft");
  expect(await run("calm")).toBe("dear within");
  expect((await client.budgets.list({ tenant: "acme" }))[0]).toMatchObject({ state: "soft", soft: 0.2, hard: null });

  // A hard limit that a dear call does not fit under, and cheap ones do.
  await client.budgets.set({ tenant: "calm", per: "month", hard: 0.12 });
  expect(await run("calm")).toBe("cheap within");
  expect(await run("calm")).toBe("cheap within");
  await expect(client.enqueue(paint, {}, { tenant: "calm" })).rejects.toThrow(BudgetExhaustedError);
});

test("settings that mean nothing are refused by name", async () => {
  await using client = newClient();
  const set = (options: object) => client.budgets.set({ tenant: "acme", per: "day", ...options } as never);
  await expect(set({})).rejects.toThrow(/give soft, hard or both/);
  await expect(set({ soft: 2, hard: 1 })).rejects.toThrow(/soft: 2 is above hard/);
  await expect(set({ hard: 1, per: "week" })).rejects.toThrow(/per/);
  await expect(set({ hard: 1, currency: "dollars" })).rejects.toThrow(/no code like "USD"/);
  await expect(set({ hard: 1, timeZone: "Mars/Port" })).rejects.toThrow(/time_zone: "Mars\/Port" is not known/);
  await expect(set({ hard: 1, typo: 1 })).rejects.toThrow(/typo/);
  expect(await client.budgets.get({ tenant: "acme", per: "day" })).toBeUndefined();
  expect(await client.budgets.remove({ tenant: "acme", per: "day" })).toBe(false);
});
