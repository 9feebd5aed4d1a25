// C1: what a call of the handler answers, early and late; and that it goes on while work remains.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { gate, keepingLogger } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { rightCall, SECRET, tickHandler } from "./handlers.js";

const db = useDatabase();
const work = defineJob<{ fails?: boolean }>({ kind: "work", retry: { attempts: 2, backoff: () => 3_600_000 } });
const handlers = [
  handle(work, ({ input }) => {
    if (input.fails) throw new Error("no");
  }),
];

test("C1: the answer says what was claimed, succeeded, failed and held back, what is left, and when to come again", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(work, [{ input: {} }, { input: {} }, { input: { fails: true } }]);
  const response = await tickHandler({ databaseUrl: db.url, handlers })(rightCall());
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  const body = (await response.json()) as { nextAt: string };
  expect(body).toEqual({ claimed: 3, succeeded: 2, failed: 1, throttled: 0, remaining: 0, nextAt: body.nextAt });
  // The failed one is due in an hour.
  const [{ run_at: at }] = (await db.query<{ run_at: Date }>("select run_at from fairmill.job")) as [{ run_at: Date }];
  expect(Math.abs(new Date(body.nextAt).getTime() - at.getTime())).toBeLessThan(60_000);
  expect(await (await tickHandler({ databaseUrl: db.url, handlers })(rightCall())).json()).toMatchObject({
    claimed: 0,
  });
});

test("C1: nothing to do, now and later: nextAt is null", async () => {
  const response = await tickHandler({ databaseUrl: db.url, handlers })(rightCall());
  expect(await response.json()).toEqual({
    claimed: 0,
    succeeded: 0,
    failed: 0,
    throttled: 0,
    remaining: 0,
    nextAt: null,
  });
  expect(await db.query("select from fairmill.worker")).toEqual([]);
  expect(await db.query("select mode, jobs_claimed, queue_depth_at_start from fairmill.worker_tick_metrics")).toEqual([
    { mode: "tick", jobs_claimed: 0, queue_depth_at_start: 0 },
  ]);
});

test('respond: "early" answers 202 while the job still runs, and tells the platform of the work', async () => {
  await using client = createClient({ databaseUrl: db.url });
  const held = gate();
  const { id } = await client.enqueue(work, {});
  const handler = tickHandler({ databaseUrl: db.url, handlers: [handle(work, () => held.promise)], respond: "early" });
  let working: Promise<unknown> | undefined;
  const platform = {
    waitUntil: (work: Promise<unknown>) => {
      working = work;
    },
  };
  const response = await handler(rightCall(), platform);
  expect([response.status, await response.json()]).toEqual([202, { accepted: true }]);
  await waitUntil("the job runs", async () => (await client.job(id))!.state === "running");
  held.open();
  await working;
  expect(await client.job(id)).toMatchObject({ state: "done" });
});

test("a tick that leaves work behind calls itself, at most so often, and no other address", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    work,
    Array.from({ length: 50 }, () => ({ input: {} })),
  );
  const hops: (string | undefined)[] = [];
  const under: Promise<unknown>[] = [];
  const server = createServer((request, response) => {
    hops.push(request.headers["x-fairmill-hop"] as string | undefined);
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name.startsWith("x-")));
    void handler(new Request(url, { method: request.method!, headers: headers as Record<string, string> })).then(
      (answer) => {
        response.statusCode = answer.status;
        response.end();
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tick`;
  const handler = tickHandler({
    databaseUrl: db.url,
    handlers,
    maxJobsPerTick: 10,
    respond: "early",
    selfCall: { url, hopsMax: 3 },
    waitUntil: (work) => void under.push(work),
  });
  await handler(rightCall());
  await waitUntil("the third hop has come", () => hops.length === 3);
  for (let i = 0; i < under.length; i++) await under[i];
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(hops).toEqual(["1", "2", "3"]);
  expect(
    await db.query(
      "select sum(jobs_claimed)::integer as claimed, count(*)::integer as ticks from fairmill.worker_tick_metrics",
    ),
  ).toEqual([{ claimed: 40, ticks: 4 }]);
});

test("a database that is away is answered with 503, and the reason stays in the log", async () => {
  const logger = keepingLogger();
  const handler = tickHandler({ databaseUrl: "postgres://nobody:password1@127.0.0.1:1/none", handlers, logger });
  const response = await handler(rightCall());
  expect(response.status).toBe(503);
  const body = await response.text();
  expect(JSON.parse(body)).toMatchObject({ error: { code: "FAIRMILL_DATABASE_UNREACHABLE" } });
  expect(body + JSON.stringify(logger.lines)).not.toContain("password1");
  expect(JSON.stringify(logger.lines)).not.toContain(SECRET);
});

test("the entry fairmill/tick starts no threads and listens to nothing", async () => {
  const seen = new Set<string>();
  let hasRunner = false;
  const { readFile } = await import("node:fs/promises");
  const walk = async (file: URL): Promise<void> => {
    if (seen.has(file.href)) return;
    seen.add(file.href);
    const text = await readFile(file, "utf8");
    expect(text, file.href).not.toContain('"node:worker_threads"');
    expect(text, file.href).not.toMatch(/\b(Heartbeat|Listener|Worker)(\$\d+)? = class\b/);
    hasRunner ||= /\bTickRunner = class\b/.test(text);
    for (const [, name] of text.matchAll(/from "(\.[^"]+)"/g)) await walk(new URL(name!, file));
  };
  await walk(new URL("../../dist/ticks/index.js", import.meta.url));
  expect(hasRunner).toBe(true);
});
