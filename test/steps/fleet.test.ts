// Steps over real worker processes that die: what was paid is not paid again, and pauses outlive everybody.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { inState } from "../support/jobs.js";
import { startWorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const paying = defineJob({ kind: "paying" });
const pausing = defineJob<{ napMs: number }>({ kind: "pausing" });

test("B22: a job of three paid steps, killed after each of them in turn, pays for each of them once", async () => {
  await db.query(
    "create table paid (receipt integer generated always as identity, job bigint, step text, attempt integer)",
  );
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(paying, {});
  for (const n of [1, 2, 3]) {
    const worker = await startWorkerProcess(db.url, ["paying"], { lease: 600, crashesMax: 10 });
    await worker.heard((message) => message.paid === n, `step ${n} is paid`);
    await worker.kill();
  }
  const last = await startWorkerProcess(db.url, ["paying"], { lease: 600, crashesMax: 10 });
  expect(await client.result(id)).toEqual([1, 2, 3]);
  await last.stop();
  expect(await db.query("select job, step, attempt from paid order by receipt")).toEqual([
    { job: id, step: "pay 1", attempt: 1 },
    { job: id, step: "pay 2", attempt: 2 },
    { job: id, step: "pay 3", attempt: 3 },
  ]);
  expect(await client.job(id)).toMatchObject({ attempt: 4, crashes: 3 });
  expect(await client.jobs.steps(id)).toMatchObject([
    { name: "pay 1", position: 0, result: 1, attempt: 1 },
    { name: "pay 2", position: 1, result: 2, attempt: 2 },
    { name: "pay 3", position: 2, result: 3, attempt: 3 },
  ]);
  await db.query("drop table paid");
});

test("B22: a sleep and a wait go on in other processes, after all workers are gone", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(pausing, { napMs: 1_500 });
  const first = await startWorkerProcess(db.url, ["pausing"], { lease: 600 });
  const asleep = await waitUntil("it sleeps", async () =>
    (await client.jobs.steps(id)).find(({ name }) => name === "nap"),
  );
  await inState(client, id, "scheduled");
  await first.kill();

  const second = await startWorkerProcess(db.url, ["pausing"], { lease: 600 });
  await waitUntil("it waits", async () => (await client.jobs.steps(id)).some(({ name }) => name === "word"));
  await inState(client, id, "scheduled");
  await second.stop();

  expect(await client.signal(id, "word", "go")).toBe("sent");
  const third = await startWorkerProcess(db.url, ["pausing"], { lease: 600 });
  expect(await client.result(id)).toEqual({
    before: first.child.pid,
    between: second.child.pid,
    after: third.child.pid,
    word: "go",
  });
  await third.stop();
  const steps = await client.jobs.steps(id);
  expect(steps.map(({ name, kind }) => [name, kind])).toEqual([
    ["before", "run"],
    ["nap", "sleep"],
    ["between", "run"],
    ["word", "wait"],
  ]);
  // The moment was fixed when it was first reached, and no run went on before it.
  expect(steps[1]!.wakeAt).toEqual(asleep.wakeAt);
  expect(steps[1]!.finishedAt!.getTime()).toBeGreaterThanOrEqual(asleep.wakeAt!.getTime());
  expect(await client.job(id)).toMatchObject({ attempt: 1, crashes: 0, failures: [] });
});
