// A worker that stops does not wait for the whole of a job with steps: the job stops at its next one, and another worker goes on from there.
import { createClient, defineJob, handle, type JobContext } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { begun, endOf, eventOf, gate, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const movie = defineJob({ kind: "movie", retry: { attempts: 1 } });
const plain = defineJob({ kind: "plain" });

/** Steps with who did them; what a step waits for while it is done. */
function filming() {
  const done: string[] = [];
  const handler = (who: string, waits: Partial<Record<string, Promise<unknown>>> = {}, before?: Promise<unknown>) =>
    handle(movie, async (ctx: JobContext) => {
      await before;
      for (const name of ["first", "second", "third"])
        await ctx.step(name, async () => {
          done.push(`${name} by ${who}`);
          await waits[name];
        });
      return who;
    });
  return { done, handler };
}

test("on a stop a job with steps ends at its next one and waits for nothing, while one without steps may end", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const [mayStep, mayEnd] = [gate(), gate()];
  const { done, handler } = filming();
  const old = await startWorker(
    db.url,
    [handler("old", { second: mayStep.promise }), handle(plain, () => mayEnd.promise)],
    { grace: "1h" },
  );
  const stepped = eventOf(old, "ended", ({ claim }) => claim.kind === "movie");
  const id = await begun(client, old, movie, {});
  const other = await begun(client, old, plain, {});
  await waitUntil("its second step has begun", () => done.length === 2);
  const stopping = old.stop();
  mayStep.open();
  expect((await stepped).verdict).toEqual({ verdict: "release", yields: true });
  mayEnd.open();
  await stopping;
  expect(await client.job(other)).toMatchObject({ state: "done" });
  // What was being done is kept; nothing is spent, and nothing delays the next run.
  expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0, crashes: 0, failures: [] });
  expect(await db.query("select released, run_at from fairmill.job where id = $1", [id])).toEqual([
    { released: null, run_at: null },
  ]);
  expect((await client.jobs.steps(id)).map(({ name }) => name)).toEqual(["first", "second"]);

  await using _ = await startWorker(db.url, [handler("new")]);
  expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1, result: "new" });
  expect(done).toEqual(["first by old", "second by old", "third by new"]);
});

test("a run that comes to its first step when its worker stops does not begin it, and is given back as often as that happens", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { done, handler } = filming();
  const { id } = await client.enqueue(movie, {});
  // More often than a release is free of a pause.
  for (let n = 0; n < 5; n++) {
    const mayGo = gate();
    const worker = await startWorker(db.url, [handler(`worker ${n}`, {}, mayGo.promise)], { grace: "1h" });
    await eventOf(worker, "running");
    const stopping = worker.stop();
    mayGo.open();
    await stopping;
    expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0 });
  }
  expect(done).toEqual([]);
});
