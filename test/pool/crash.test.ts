// What becomes of jobs whose child dies: they are back at once, counted, with the reason on record, and no job beside them suffers for ever.
import { expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { heard, servingAtLeast, useRig } from "./rig.js";

const rig = useRig();

test("a child that is killed while it runs 10 jobs: all of them run elsewhere before the lease could end, each counted as a crash", async () => {
  const leaseMs = 3_600_000;
  const supervisor = await rig.start({ lease: leaseMs, worker: { minInstances: 2 } });
  await servingAtLeast(supervisor, 2);
  const jobs = await Promise.all(Array.from({ length: 20 }, () => rig.enqueue("held")));
  const pids = new Map<string, number>();
  for (const job of jobs) pids.set(job, (await rig.runs(job))[0]!);
  const [victim] = [...pids.values()];
  const lost = jobs.filter((job) => pids.get(job) === victim);
  expect(lost).toHaveLength(10);

  process.kill(victim!, "SIGKILL");
  for (const job of lost) expect((await rig.runs(job, 2))[1]).not.toBe(victim);
  // The lease is an hour: only the supervisor can have given them back.
  expect(
    await rig.db.query("select state, lease_until > now() + interval '50 minutes' as held from fairmill.worker"),
  ).toEqual([{ state: "alive", held: true }]);
  await rig.letGo();
  for (const job of jobs) {
    const { state, crashes, attempt, failures } = await rig.ended(job);
    const isLost = lost.includes(job);
    expect({ state, crashes, attempt }).toEqual({ state: "done", crashes: isLost ? 1 : 0, attempt: isLost ? 2 : 1 });
    if (isLost)
      expect(failures).toMatchObject([
        {
          outcome: "crashed",
          error: { code: "FAIRMILL_CHILD_LOST", message: "The process that ran this job died: killed by SIGKILL" },
        },
      ]);
  }
});

test("a job that kills its child each time is dead after crashesMax, and those that ran beside it are done", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 2, maxConsecutiveFailures: 10 } });
  await servingAtLeast(supervisor, 2);
  const fatal = await rig.enqueue("fatal");
  const innocents = await Promise.all(Array.from({ length: 6 }, () => rig.enqueue("slow", { ms: 300 })));
  const { state, error, crashes, failures } = await rig.ended(fatal);
  expect({ state, crashes, code: error?.code }).toEqual({ state: "dead", crashes: 3, code: "FAIRMILL_POISON" });
  expect(failures).toHaveLength(3);
  for (const job of innocents) expect((await rig.ended(job)).state).toBe("done");
  // Suspects have a process to themselves.
  expect(new Set(await rig.pidsOf(fatal)).size).toBe(3);
});

test("several suspects do not take all children: they run alone one after the other, and other jobs go on", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 2 } });
  const children = await servingAtLeast(supervisor, 2);
  const suspects = await Promise.all(Array.from({ length: 3 }, () => rig.enqueue("held", {}, { delay: "1h" })));
  await rig.db.query(
    "update fairmill.job set attempt = 2, crashes = 2, lease_no = 2, run_at = now() where id = any ($1)",
    [suspects],
  );
  const alone = await waitUntil("a suspect runs", async () => {
    for (const job of suspects) for (const pid of await rig.pidsOf(job)) return { job, pid };
    return undefined;
  });
  const others = await Promise.all(Array.from({ length: 4 }, () => rig.enqueue("quick")));
  for (const job of others) {
    const { by } = (await rig.ended(job)).result!;
    expect(by).not.toBe(alone.pid);
    expect(children.map(({ pid }) => pid)).toContain(by);
  }
  for (const job of suspects.filter((one) => one !== alone.job)) expect(await rig.pidsOf(job)).toEqual([]);
  await rig.letGo();
  for (const job of suspects) expect(await rig.ended(job)).toMatchObject({ state: "done", crashes: 2 });
});

test("a job that is out of memory dies with its process, not its neighbours", async () => {
  const supervisor = await rig.start({
    worker: { minInstances: 2, maxConsecutiveFailures: 10, execArgv: ["--max-old-space-size=40"] },
  });
  await servingAtLeast(supervisor, 2);
  const innocents = await Promise.all(Array.from({ length: 4 }, () => rig.enqueue("slow", { ms: 400 })));
  const hungry = await rig.enqueue("hungry");
  const { state, failures } = await rig.ended(hungry);
  expect(state).toBe("dead");
  for (const { error } of failures!)
    expect(error.message).toBe("The process that ran this job died: out of memory, or aborted");
  for (const job of innocents) expect((await rig.ended(job)).state).toBe("done");
});

test("an error that no handler caught ends the child, and is the reason on record", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1, maxConsecutiveFailures: 10 } });
  const failed = heard(supervisor, "child", ({ child }) => child.state === "failed");
  const job = await rig.enqueue("thrower");
  expect((await failed).child).toMatchObject({ failures: 1, reason: "unhandled error: nobody catches this" });
  const { failures } = await rig.ended(job);
  expect(failures![0]!.error.message).toBe("The process that ran this job died: unhandled error: nobody catches this");
});

test("a job that was asked to cancel and whose child then dies is cancelled, not run again", async () => {
  await rig.start({ worker: { minInstances: 1 }, lease: "1h" });
  const job = await rig.enqueue("blocking", { ms: 60_000 });
  const [pid] = await rig.runs(job);
  await rig.db.query("update fairmill.job set cancel_requested_at = now() where id = $1", [job]);
  process.kill(pid!, "SIGKILL");
  expect((await rig.ended(job)).state).toBe("cancelled");
  expect(await rig.pidsOf(job)).toHaveLength(1);
});

test("when every job kills its process, the supervisor stops and names their kind", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1, maxConsecutiveFailures: 2 } });
  const failed = heard(supervisor, "failed");
  const job = await rig.enqueue("thrower");
  expect((await failed).error.message).toContain(
    'The last one: unhandled error: nobody catches this, while it ran jobs of the kind "thrower". Repair that',
  );
  expect(await rig.pidsOf(job)).toHaveLength(2);
});

test("children that die as soon as they start end in a clear error, not in a spinning host", async () => {
  await expect(
    rig.start({ worker: { minInstances: 2, maxConsecutiveFailures: 2, execArgv: ["--no-such-flag-of-node"] } }),
  ).rejects.toMatchObject({ code: "FAIRMILL_CRASH_LOOP", message: expect.stringContaining("exit code 9") });
  await waitUntil(
    "no worker was left",
    async () => (await rig.db.query("select from fairmill.worker where state = 'alive'")).length === 0,
  );
});
