// F4 with workers: what runs, how often, and with which input.
import { createClient, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { withoutTimersOf } from "../../support/clocks.js";
import { useDatabase } from "../../support/database.js";
import { asleep, begun, endOf, gate, inState, startWorker } from "../../support/jobs.js";

const db = useDatabase();
interface Input {
  readonly n: number;
}

test("debounce: twenty calls in quick succession run once, with the last input, after quiet", async () => {
  const index = defineJob<Input>({ kind: "index", debounce: { by: () => "all", wait: 300 } });
  const seen: number[] = [];
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [handle(index, ({ input }) => void seen.push(input.n))], {
    clock: withoutTimersOf(1_000),
  });
  await asleep(worker);
  const ids = new Set<string>();
  for (let n = 1; n <= 10; n++) ids.add((await client.enqueue(index, { n })).id);
  for (const { id } of await Promise.all(Array.from({ length: 10 }, (_, i) => client.enqueue(index, { n: 11 + i }))))
    ids.add(id);
  expect(ids.size).toBe(1);
  const job = await endOf(client, [...ids][0]!);
  expect(seen).toEqual([20]);
  expect(job).toMatchObject({ state: "done", attempt: 1, payload: { n: 20 } });
  expect(job.startedAt!.getTime()).toBeGreaterThanOrEqual(job.runAt!.getTime());
  // The next call begins anew.
  const next = await client.enqueue(index, { n: 21 });
  expect(next.created).toBe(true);
  await endOf(client, next.id);
  expect(seen).toEqual([20, 21]);
});

test("debounce: calls that do not stop do not put the job off beyond the bound", async () => {
  const index = defineJob<Input>({ kind: "index", debounce: { by: () => "all", wait: 400, max: 600 } });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(index, () => {})]);
  const first = await client.enqueue(index, { n: 0 });
  // Without the bound each call would find the same job, and this loop would have no end.
  let calls = 1;
  while ((await client.enqueue(index, { n: calls })).id === first.id) calls++;
  const job = await endOf(client, first.id);
  expect(job.runAt!.getTime() - job.createdAt.getTime()).toBe(600);
  expect(calls).toBeGreaterThan(1);
});

test("unique until started: a call while the job runs makes the next one, and further calls find that", async () => {
  const sync = defineJob<Input>({ kind: "sync", unique: { by: () => "all", until: "started" } });
  const go = gate();
  const seen: number[] = [];
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(
    db.url,
    [
      handle(sync, async ({ input }) => {
        seen.push(input.n);
        await go.promise;
      }),
    ],
    { concurrency: 1 },
  );
  const first = await begun(client, worker, sync, { n: 1 });
  const second = await client.enqueue(sync, { n: 2 });
  expect(second.created).toBe(true);
  expect(await client.enqueue(sync, { n: 3 })).toEqual({ id: second.id, created: false });
  go.open();
  await endOf(client, first);
  await endOf(client, second.id);
  expect(seen).toEqual([1, 2]);
});

test("replace: a job that was put off runs at once when its replacement says so", async () => {
  const report = defineJob<Input>({ kind: "report", unique: { by: () => "all", onConflict: "replace" } });
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [handle(report, ({ input }) => input.n)], { poll: "1h" });
  const { id } = await client.enqueue(report, { n: 1 }, { delay: "1h" });
  await asleep(worker);
  expect(await client.enqueue(report, { n: 2 })).toMatchObject({ id, replaced: true });
  expect(await endOf(client, id)).toMatchObject({ state: "done", result: 2 });
});

test("replace: a job that sleeps between its steps keeps its input, and the second call is answered with it", async () => {
  const report = defineJob<Input>({ kind: "report", unique: { by: () => "all", onConflict: "replace" } });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(report, async (ctx) => {
      const first = await ctx.step("first", () => ctx.input.n);
      await ctx.waitFor("go", { timeout: "1h" });
      return [first, await ctx.step("second", () => ctx.input.n)];
    }),
  ]);
  const { id } = await client.enqueue(report, { n: 1 });
  await inState(client, id, "scheduled");
  expect(await client.enqueue(report, { n: 2 })).toEqual({ id, created: false });
  await client.signal(id, "go");
  expect(await endOf(client, id)).toMatchObject({ state: "done", result: [1, 1] });
});

test("replace: one that goes under another key never runs beside the one that has the place there", async () => {
  const edit = defineJob<{ user: string; document: string }>({
    kind: "edit",
    key: ({ user }) => user,
    limits: { active: 1 },
    unique: { by: ({ document }) => document, until: "started", onConflict: "replace" },
  });
  const go = gate();
  const running = new Map<string, number>();
  const most = new Map<string, number>();
  const count = (key: string, by: number) => {
    running.set(key, (running.get(key) ?? 0) + by);
    most.set(key, Math.max(most.get(key) ?? 0, running.get(key)!));
  };
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(edit, async ({ key }) => {
      count(key!, 1);
      await go.promise;
      count(key!, -1);
    }),
  ]);
  await client.pause({ kind: "edit" });
  const first = await client.enqueue(edit, { user: "ann", document: "a" });
  await inState(client, first.id, "ready");
  const second = await client.enqueue(edit, { user: "bob", document: "b" });
  const third = await client.enqueue(edit, { user: "ann", document: "c" });
  await inState(client, second.id, "ready");
  await inState(client, third.id, "blocked");
  expect(await client.enqueue(edit, { user: "bob", document: "a" })).toMatchObject({ id: first.id, replaced: true });
  await inState(client, first.id, "blocked");
  await inState(client, third.id, "ready");
  await client.resume({ kind: "edit" });
  await inState(client, second.id, "running");
  await inState(client, third.id, "running");
  go.open();
  for (const { id } of [first, second, third]) await endOf(client, id);
  expect(most).toEqual(
    new Map([
      ["ann", 1],
      ["bob", 1],
    ]),
  );
});
