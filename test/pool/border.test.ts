// What crosses the border between a supervisor and its children, and arrives there as it would in one process.
import { createClient } from "fairmill";
import { expect, test } from "vitest";
import { waitForEvent, waitUntil } from "../support/wait.js";
import { heard, servingAtLeast, servingOf, useRig } from "./rig.js";

const rig = useRig();

test("steps, progress, effects, deliveries and results of a handler in a child are kept as those of a worker", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1 } });
  const job = await rig.enqueue("effects");
  const { state, result } = await rig.ended(job);
  const { pid } = servingOf(supervisor)[0]!;
  // A Date is a text, as JSON has it; and it was not this process.
  expect({ state, result }).toEqual({
    state: "done",
    result: { first: pid, by: pid, tick: null, at: new Date(0).toISOString() },
  });
  expect(pid).not.toBe(process.pid);
  const [child] = await waitUntil("the job that it asked for is done", async () => {
    const rows = await rig.db.query("select state, payload from fairmill.job_history where kind = 'begotten'");
    return rows.length > 0 ? rows : undefined;
  });
  expect(child).toEqual({ state: "done", payload: { parent: job } });
  const message = await waitUntil("the message was sent", async () => {
    const [row] = await rig.db.query("select status, answer from fairmill.outbox where status = 'sent'");
    return row;
  });
  expect(message["answer"]).toEqual({ got: "paid", by: pid });
  expect(await rig.db.query("select name from fairmill.step where job_id = $1", [job])).toEqual([{ name: "first" }]);
});

test("a sleep and a wait end the run in the child, and a signal goes on with it in any other", async () => {
  await rig.start({ worker: { minInstances: 2, allocation: "round-robin" } });
  const job = await rig.enqueue("pausing");
  const client = createClient({ databaseUrl: rig.db.url });
  await client.signal(job, "word", { yes: 1 });
  await client.close();
  const { state, result } = await rig.ended(job);
  expect({ state, said: result!["said"] }).toEqual({ state: "done", said: { yes: 1 } });
});

test("ctx.complete settles the job in a transaction of the child's own connection, once", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1 } });
  const job = await rig.enqueue("booking");
  const { state, result } = await rig.ended(job);
  expect({ state, result }).toEqual({ state: "done", result: { booked: true } });
  expect(await rig.pidsOf(job)).toEqual([servingOf(supervisor)[0]!.pid]);
});

test("an error in a child has its class's meaning here: a job that says it is not worth repeating is dead", async () => {
  await rig.start({ worker: { minInstances: 1 } });
  const { state, failures } = await rig.ended(await rig.enqueue("failing"));
  expect(state).toBe("dead");
  expect(failures).toMatchObject([{ outcome: "failed", error: { message: "no such address" } }]);
});

test("a cancel reaches the handler's signal in its child", async () => {
  await rig.start({ worker: { minInstances: 1 } });
  const job = await rig.enqueue("held");
  await rig.runs(job);
  const client = createClient({ databaseUrl: rig.db.url });
  await client.cancel(job);
  await client.close();
  expect((await rig.ended(job)).state).toBe("cancelled");
});

test("a handler that ignores its signal past the time limit loses its process, not its neighbours", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1 } });
  const { pid } = servingOf(supervisor)[0]!;
  const neighbour = await rig.enqueue("held");
  await rig.runs(neighbour);
  const stubborn = await rig.enqueue("stubborn");
  await rig.runs(stubborn);
  const [row] = await waitUntil("its time limit is on record", async () => {
    const rows = await rig.db.query("select failures from fairmill.job where id = $1 and failures is not null", [
      stubborn,
    ]);
    return rows.length > 0 ? rows : undefined;
  });
  expect(row!["failures"]).toMatchObject([{ outcome: "timeout" }]);
  const [successor] = await servingAtLeast(supervisor, 1);
  expect(successor!.pid).not.toBe(pid);
  // Its process is still there, for the neighbour alone.
  expect(supervisor.children().find((child) => child.pid === pid)).toMatchObject({ draining: true, state: "working" });
  await rig.letGo(neighbour);
  expect(await rig.ended(neighbour)).toMatchObject({ state: "done", crashes: 0, attempt: 1, result: { by: pid } });
  await waitUntil("the process is gone", () => supervisor.children().every((child) => child.pid !== pid));
});

test("few connections, whatever the size of the pool", async () => {
  const count = async () =>
    (
      await rig.db.query(
        "select from pg_stat_activity where datname = current_database() and application_name like 'fairmill%'",
      )
    ).length;
  const supervisor = await rig.start({ worker: { minInstances: 4 } });
  await servingAtLeast(supervisor, 4);
  await Promise.all(Array.from({ length: 40 }, async () => rig.ended(await rig.enqueue("effects"))));
  // Those of one worker with two queues (6, heartbeat, listener), and two of the supervisor.
  expect(await count()).toBeLessThanOrEqual(10);
});

test("what a handler in a child logs is kept with its job, and its secrets are not", async () => {
  await rig.start({ worker: { minInstances: 1 } });
  const job = await rig.enqueue("talking");
  await rig.ended(job);
  const rows = await waitUntil("the line is kept", async () => {
    const lines = await rig.db.query("select level, line from fairmill.job_log where job_id = $1", [job]);
    return lines.length > 0 ? lines : undefined;
  });
  expect(rows).toMatchObject([
    { level: "info", line: { message: "talked", fields: { step: 1, password: "[redacted]" } } },
  ]);
  expect(JSON.stringify(rows)).not.toContain("hunter2");
});

test("a job that a handler in a child puts into a batch is told by the event registered", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1 } });
  const client = createClient({ databaseUrl: rig.db.url });
  const batch = await client.batches.open({ hold: "1h" });
  const registered = waitForEvent(supervisor.worker.events, "registered");
  const job = await rig.enqueue("registering", { batch: batch.id });
  expect(await registered).toMatchObject({ kind: "begotten", batch: batch.id, job: null });
  expect(await rig.ended(job)).toMatchObject({ state: "done" });
  await batch.close();
  await client.close();
});

test("the time limit that was given with one job holds in a child, and a blocked loop past it costs the process", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1, hangTimeout: "10m" } });
  const job = await rig.enqueue("slow", { ms: 600_000 }, { timeout: 200, attempts: 1 });
  expect(await rig.ended(job)).toMatchObject({ state: "dead", failures: [{ outcome: "timeout" }] });
  const failed = heard(supervisor, "child", ({ child }) => child.state === "failed");
  await rig.enqueue("blocking", { ms: 600_000 }, { timeout: 200 });
  expect((await failed).child.reason).toMatch(/past the time limit of kind "blocking"/);
});
