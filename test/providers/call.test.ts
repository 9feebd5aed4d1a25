// ctx.call in a handler: what it returns, what it throws, what becomes of the job, and what is on record.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Client,
  createClient,
  createWorker,
  defineJob,
  defineProvider,
  type Handler,
  handle,
  type JobContext,
  type Provider,
  silentLogger,
} from "fairmill";
import { ProviderClosedError, ProviderTimeoutError } from "fairmill/errors";
import type { ProviderOptions } from "fairmill/observe";
import { expect, onTestFinished, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const database = useDatabase();

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A worker with these handlers, and a client. */
async function withWorker<T>(handlers: readonly Handler[], work: (client: Client) => Promise<T>): Promise<T> {
  const client = createClient({ databaseUrl: database.url });
  const worker = createWorker({
    databaseUrl: database.url,
    handlers,
    logger: silentLogger,
    alerts: false,
    poll: "200ms",
  });
  await worker.start();
  try {
    return await work(client);
  } finally {
    await worker.stop({ grace: "1s" });
    await client.close();
  }
}

/** Runs one job with this handler, and waits for its end. */
async function runOne(
  needs: readonly Provider[],
  run: (ctx: JobContext<object>) => unknown,
  retry: { attempts: number } = { attempts: 1 },
) {
  const job = defineJob<object, unknown>({ kind: "asks", needs: [needs], retry });
  return withWorker([handle(job, run)], async (client) => {
    const { id } = await client.enqueue(job, {});
    return waitUntil("the job has ended", async () => {
      const found = await client.job(id);
      return found && ["done", "dead"].includes(found.state) ? found : undefined;
    });
  });
}

const provider = (options: Partial<ProviderOptions> = {}) => defineProvider({ name: "gemini", ...options });

test("an answer that is returned is looked at, and handed on", async () => {
  const url = await serve((_, response) => response.end("hello"));
  const gemini = provider();
  const job = await runOne([gemini], async (ctx) =>
    (await ctx.call(gemini, ({ signal }) => fetch(url, { signal }))).text(),
  );
  expect(job).toMatchObject({ state: "done", result: "hello", attempt: 1 });
});

test("B19: a call that takes too long aborts, fails, and may have been paid", async () => {
  const url = await serve(() => {});
  const gemini = provider({ timeout: "100ms", cost: 2 });
  let thrown: unknown;
  const job = await runOne([gemini], async (ctx) => {
    try {
      await ctx.call(gemini, ({ signal }) => fetch(url, { signal }));
    } catch (error) {
      thrown = error;
      throw error;
    }
  });
  expect(thrown).toBeInstanceOf(ProviderTimeoutError);
  expect(job).toMatchObject({ state: "dead" });
  expect(await database.query("select state, cost::int as cost from fairmill.provider_charge")).toEqual([
    { state: "unknown", cost: 2 },
  ]);
});

test("a function that ignores its signal is not waited for", async () => {
  const gemini = provider({ timeout: "50ms" });
  const job = await runOne([gemini], (ctx) => ctx.call(gemini, () => new Promise(() => {})));
  expect(job).toMatchObject({ state: "dead" });
});

test("B14: the chain goes on to the next provider, in one attempt, and a failed call costs nothing", async () => {
  const url = await serve((request, response) => {
    response.statusCode = request.url === "/second" ? 200 : 500;
    response.end("from second");
  });
  const second = defineProvider({ name: "second", cost: 3 });
  const gemini = provider({ fallback: second, cost: 5 });
  const job = await runOne([gemini], (ctx) =>
    ctx.call(gemini, async ({ signal, check, provider, cost }) => {
      const answer = check(await fetch(`${url}/${provider.name}`, { signal }));
      cost(3.25);
      return answer.text();
    }),
  );
  expect(job).toMatchObject({ state: "done", result: "from second", attempt: 1 });
  const costs = "select provider, state, cost::float8 as cost from fairmill.provider_charge order by provider";
  expect(await database.query(costs)).toEqual([
    { provider: "gemini", state: "void", cost: 0 },
    { provider: "second", state: "paid", cost: 3.25 },
  ]);
});

test("B19: a 429 puts the job back until then, unspent, and another attempt is not counted", async () => {
  let calls = 0;
  const url = await serve((_, response) => {
    calls++;
    if (calls === 1) response.writeHead(429, { "retry-after-ms": "300" });
    response.end("done");
  });
  const gemini = provider();
  let thrown: unknown;
  const job = await runOne([gemini], async (ctx) => {
    try {
      return await ctx.call(gemini, async ({ signal, check }) => check(await fetch(url, { signal })).text());
    } catch (error) {
      thrown = error;
      throw new Error("wrapped by the handler", { cause: error });
    }
  });
  expect(thrown).toBeInstanceOf(ProviderClosedError);
  expect(job).toMatchObject({ state: "done", result: "done", attempt: 1, failures: [] });
  expect(calls).toBe(2);
});

test("B19: an answer that says that nothing is left closes the provider, and is handed on", async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "60" });
    response.end("last one");
  });
  const gemini = provider();
  const job = await runOne([gemini], (ctx) =>
    ctx.call(gemini, async ({ signal, check }) => check(await fetch(url, { signal })).text()),
  );
  expect(job).toMatchObject({ state: "done", result: "last one" });
  expect(await database.query("select closed_why from fairmill.provider")).toEqual([{ closed_why: "rate-limit" }]);
});

test("B21 C1: a call inside of a step is made, and paid, once, however often the job runs", async () => {
  let calls = 0;
  const url = await serve((_, response) => {
    calls++;
    response.end("paid for");
  });
  const gemini = provider({ cost: 1 });
  const job = await runOne(
    [gemini],
    async (ctx) => {
      const text = await ctx.step("ask", () =>
        ctx.call(gemini, async ({ signal, check }) => check(await fetch(url, { signal })).text(), { cost: 0.5 }),
      );
      if (ctx.attempt < 3) throw Object.assign(new Error("later"), { retryAfterMs: 1 });
      return text;
    },
    { attempts: 3 },
  );
  expect(job).toMatchObject({ state: "done", result: "paid for", attempt: 3 });
  expect(calls).toBe(1);
  const client = createClient({ databaseUrl: database.url });
  try {
    expect(await client.providers.charges(job.id)).toMatchObject([{ provider: "gemini", cost: 0.5, state: "paid" }]);
    expect(await client.providers.costs({ by: ["tenant", "kind"] })).toEqual([
      { tenant: "default", kind: "asks", currency: "USD", calls: 1, cost: 0.5 },
    ]);
  } finally {
    await client.close();
  }
});

test("a job that is cancelled while its call waits, or is under way, ends at once, and leaves nothing behind", async () => {
  let called: string | undefined;
  const url = await serve((request) => {
    called = request.url!.slice(1);
  });
  const gemini = provider({ limits: { inFlight: 1 }, cost: 1 });
  const job = defineJob<object>({ kind: "asks", needs: [gemini] });
  await withWorker(
    [handle(job, (ctx) => ctx.call(gemini, ({ signal }) => fetch(`${url}/${ctx.id}`, { signal })))],
    async (client) => {
      const ids = (await client.enqueueMany(job, [{ input: {} }, { input: {} }])).map(({ id }) => id);
      await waitUntil("one is called, the other waits", async () => {
        const [one] = await client.providers.list();
        return one?.inFlight === 1 && one.waiting === 1;
      });
      await waitUntil("the call has arrived", () => called);
      await client.cancel(ids.find((id) => id !== called)!);
      await waitUntil("the one that waited is cancelled", async () => {
        const waited = await client.job(ids.find((id) => id !== called)!);
        return waited?.state === "cancelled";
      });
      await client.cancel(called!);
      await waitUntil("both are cancelled", async () =>
        (await Promise.all(ids.map((id) => client.job(id)))).every((one) => one?.state === "cancelled"),
      );
      await waitUntil("nothing is in flight", async () => (await client.providers.get("gemini"))?.inFlight === 0);
    },
  );
  expect(await database.query("select state from fairmill.provider_charge order by state")).toEqual([
    { state: "unknown" },
    { state: "void" },
  ]);
});

test("closed and opened by hand: jobs wait in the queue, and go on when it opens", async () => {
  const url = await serve((_, response) => response.end("hello"));
  const gemini = provider();
  const job = defineJob<object>({ kind: "asks", needs: [gemini] });
  await withWorker(
    [handle(job, async (ctx) => (await ctx.call(gemini, ({ signal }) => fetch(url, { signal }))).text())],
    async (client) => {
      await client.providers.close("gemini", { note: "maintenance" });
      expect(await client.providers.get("gemini")).toMatchObject({
        closed: { why: "hand", until: null, note: "maintenance" },
      });
      const { id } = await client.enqueue(job, {});
      await waitUntil("a claim has met it", async () => {
        const why = await client.why(id);
        return why?.reason === "The provider gemini is closed until it is opened (by hand: maintenance).";
      });
      expect((await client.job(id))?.state).toBe("ready");
      await client.providers.open("gemini");
      await waitUntil("the job is done", async () => (await client.job(id))?.state === "done");
      expect((await client.providers.events("gemini")).map(({ event }) => event)).toEqual(["opened", "closed"]);
      await expect(client.providers.close("gemni")).rejects.toMatchObject({ code: "FAIRMILL_PROVIDER_NOT_FOUND" });
    },
  );
});

test("what is no provider, no function or no cost is refused by name", async () => {
  expect(() => defineProvider({ name: "x", limit: 3 } as never)).toThrow(
    /unknown setting "limit". Did you mean "limits"/,
  );
  expect(() => defineProvider({ name: "x", limits: { inFlight: 0 } })).toThrow(/inFlight/);
  expect(() => defineProvider({ name: "x", breaker: { failureRate: 2 } })).toThrow(/failureRate/);
  expect(() => defineProvider({ name: "x", currency: "dollars" })).toThrow(/currency/);
  expect(() => defineJob({ kind: "k", needs: [{ name: "pixian" }] as never })).toThrow(
    /was not made by defineProvider/,
  );
  const gemini = provider();
  const job = await runOne([gemini], async (ctx) => {
    const codes = [];
    for (const call of [
      () => ctx.call(gemini, "fetch" as never),
      () => ctx.call([], () => 1),
      () => ctx.call(gemini, () => 1, { cost: -1 }),
      () => ctx.call(gemini, () => 1, { price: 1 } as never),
    ])
      codes.push(await call().then(String, (error) => error.code));
    return codes;
  });
  expect(job.result).toEqual(Array(4).fill("FAIRMILL_CONFIG"));
});
