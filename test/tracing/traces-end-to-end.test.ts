// F9: a trace goes on behind a job: through the database, over retries, and on to the jobs that a handler asks for.
import { createClient, defineJob, handle } from "fairmill";
import { tracing } from "fairmill/tracing";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { recordingApi } from "./recording-api.js";

const db = useDatabase();
const first = defineJob<{ n: number }>({ kind: "first", retry: { attempts: 2, backoff: () => 0 } });
const second = defineJob<{ n: number }>({ kind: "second" });
const GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test("each run is a child of the span that enqueued it, and what a handler enqueues is a child of its run", async () => {
  const { api, spans } = recordingApi();
  const use = [tracing(api)];
  await using client = createClient({ databaseUrl: db.url, use });
  const handlers = [
    handle(first, async (ctx) => {
      if (ctx.attempt === 1) throw new Error("once more");
      await Promise.resolve();
      await ctx.enqueue(second, { n: 2 });
    }),
    handle(second, () => {}),
  ];
  const worker = await startWorker(db.url, handlers, { use });
  const { id } = await client.enqueue(first, { n: 1 });
  await waitUntil("the second job has run", () => spans.some(({ name, ends }) => name === "run second" && ends === 1));
  await worker.stop();

  const ofName = (name: string) => spans.filter((span) => span.name === name);
  const [enqueued] = ofName("enqueue first");
  const runs = ofName("run first");
  expect(runs.map(({ parent, attributes }) => [parent, attributes["fairmill.attempt"]])).toEqual([
    [enqueued!.context.spanId, 1],
    [enqueued!.context.spanId, 2],
  ]);
  expect(runs[0]!.status).toMatchObject({ code: 2 });
  const [handedOn] = ofName("enqueue second");
  expect(handedOn!.parent).toBe(runs[1]!.context.spanId);
  expect(ofName("run second")[0]!.parent).toBe(handedOn!.context.spanId);
  expect(new Set(spans.map(({ context }) => context.traceId)).size).toBe(1);
  expect(spans.every(({ ends }) => ends === 1)).toBe(true);
  const { traceId, spanId } = enqueued!.context;
  expect((await client.job(id))!.trace).toBe(`00-${traceId}-${spanId}-01`);
});

test("a job in a list and one whose caller names a trace carry theirs; without the middleware there is none", async () => {
  const { api, spans } = recordingApi();
  await using client = createClient({ databaseUrl: db.url, use: [tracing(api)] });
  await using plain = createClient({ databaseUrl: db.url });
  const listed = await client.enqueueMany(first, [{ input: { n: 1 } }, { input: { n: 2 } }]);
  const { id: own } = await client.enqueue(first, { n: 3 }, { trace: GIVEN });
  const { id: none } = await plain.enqueue(first, { n: 4 });
  const { id: said } = await plain.enqueue(first, { n: 5 }, { trace: GIVEN });
  const traceOf = async (id: string) => (await plain.job(id))!.trace;
  expect(await Promise.all(listed.map(({ id }) => traceOf(id)))).toEqual(
    spans.map(({ context }) => `00-${context.traceId}-${context.spanId}-01`),
  );
  expect(spans).toHaveLength(2);
  expect(await traceOf(own)).toBe(GIVEN);
  expect(await traceOf(none)).toBeNull();
  expect(await traceOf(said)).toBe(GIVEN);
});

test("what is no traceparent is refused before anything is stored", async () => {
  await using client = createClient({ databaseUrl: db.url });
  for (const trace of ["", "00-xyz", `${GIVEN} `, GIVEN.toUpperCase(), 7])
    await expect(client.enqueue(first, { n: 1 }, { trace: trace as string })).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      setting: "trace",
    });
  expect(await client.jobs.list()).toEqual([]);
});
