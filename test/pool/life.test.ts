// Requirements D1, D2, D4: the life of children: liveness is progress, a recycle costs nothing, a restart is phased, and a supervisor that dies takes its children with it.
import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { createClient } from "fairmill";
import { CHILD_TRANSITIONS, type ChildState } from "fairmill/pool";
import { expect, test } from "vitest";
import { keepingLogger } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { heard, MODULE, servingAtLeast, servingOf, useRig } from "./rig.js";

const rig = useRig();

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("without its schema no child is started, and nothing but the reason is told", async () => {
  const logger = keepingLogger();
  await expect(rig.start({ schema: "elsewhere", logger })).rejects.toMatchObject({ code: "FAIRMILL_NOT_MIGRATED" });
  expect(logger.lines.map(({ message }) => message)).toEqual(["Supervisor stopped"]);
});

test.each(["SIGSTOP", "blocked loop"])("a child that hangs (%s) is killed, and its jobs run elsewhere", async (how) => {
  const supervisor = await rig.start({ lease: "1h", worker: { minInstances: 2, hangTimeout: "1s" } });
  await servingAtLeast(supervisor, 2);
  const neighbour = await rig.enqueue("held");
  const [pid] = await rig.runs(neighbour);
  const failed = heard(supervisor, "child", ({ child }) => child.state === "failed");
  if (how === "SIGSTOP") process.kill(pid!, "SIGSTOP");
  else {
    const others = supervisor.children().filter((child) => child.pid !== pid);
    const blocking = await rig.enqueue("blocking", { ms: 600_000 });
    const [blocked] = await rig.runs(blocking);
    // The least busy one got it; it is the one that hangs.
    expect(others.map((child) => child.pid)).toContain(blocked);
    expect((await failed).child.reason).toMatch(/its loop has not answered/);
    expect((await rig.runs(blocking, 2))[1]).not.toBe(blocked);
    return;
  }
  expect((await failed).child.reason).toMatch(/its loop has not answered/);
  expect((await rig.runs(neighbour, 2))[1]).not.toBe(pid);
  await rig.letGo();
  expect(await rig.ended(neighbour)).toMatchObject({ state: "done", crashes: 1 });
});

test("a loop that is blocked past a job's time limit costs the process, before it counts as hung", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1, hangTimeout: "10m" } });
  const failed = heard(supervisor, "child", ({ child }) => child.state === "failed");
  const job = await rig.enqueue("limited", { ms: 600_000 });
  await rig.runs(job);
  expect((await failed).child.reason).toMatch(/past the time limit of kind "limited"/);
  await rig.runs(job, 2);
});

test("a worker's row that is deleted, and a listener that is cut off: jobs are run all the same", async () => {
  const supervisor = await rig.start({ lease: "1s", worker: { minInstances: 1 } });
  const before = supervisor.worker.id;
  await rig.db.query("delete from fairmill.worker");
  await waitUntil("it has a new name", () => supervisor.worker.id !== before);
  expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done" });
  await rig.db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'fairmill%'",
  );
  expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done" });
});

test("a clean recycle never counts as a crash, and happens to one child at a time", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 3, recycle: { jobs: 5 } } });
  await servingAtLeast(supervisor, 3);
  const states: ChildState[] = [];
  let drainingMax = 0;
  supervisor.events.on("child", ({ child, before }) => {
    states.push(child.state);
    expect(CHILD_TRANSITIONS[before] as readonly string[]).toSatisfy(
      (next: readonly string[]) => before === child.state || next.includes(child.state),
    );
    drainingMax = Math.max(drainingMax, supervisor.children().filter(({ state }) => state === "idle").length);
  });
  const jobs = await Promise.all(Array.from({ length: 60 }, () => rig.enqueue("slow", { ms: 20 })));
  for (const job of jobs) expect(await rig.ended(job)).toMatchObject({ state: "done", crashes: 0, attempt: 1 });
  await waitUntil(
    "three were recycled",
    () => supervisor.children().filter(({ reason }) => reason?.startsWith("recycled after")).length >= 3,
  );
  expect(states).not.toContain("failed");
  expect(drainingMax).toBe(1);
  expect(servingOf(supervisor).length).toBeGreaterThanOrEqual(3);
});

test.each([
  ["age", { age: "1s" }, 0, /^recycled after \d+ s$/],
  ["memory", { memoryBytes: 300 * 1024 * 1024 }, 320 * 1024 * 1024, /^recycled at \d+ MiB$/],
] as const)("a process is recycled by its %s, and no job pays for it", async (_, recycle, bytes, reason) => {
  // Figures come with the answers to pings, four in this time.
  const supervisor = await rig.start({ worker: { minInstances: 1, hangTimeout: "10s", recycle } });
  const [old] = servingOf(supervisor);
  const job = await rig.enqueue("keeping", { bytes });
  expect(await rig.ended(job)).toMatchObject({ state: "done", crashes: 0, attempt: 1 });
  const ended = await waitUntil("the old process was recycled", () =>
    supervisor.children().find(({ number, state }) => number === old!.number && state === "terminated"),
  );
  expect(ended).toMatchObject({ reason: expect.stringMatching(reason), failures: 0 });
  const [fresh] = await servingAtLeast(supervisor, 1);
  expect(fresh!.pid).not.toBe(old!.pid);
  expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done", crashes: 0 });
});

test("a restart is phased: as many serve as before at every moment, and jobs that run end where they began", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 2 } });
  const old = (await servingAtLeast(supervisor, 2)).map(({ pid }) => pid!);
  const job = await rig.enqueue("held");
  const [pid] = await rig.runs(job);
  let least = 2;
  supervisor.events.on("child", () => {
    least = Math.min(least, servingOf(supervisor).length);
  });
  expect(await supervisor.restart()).toBe(true);
  await rig.letGo();
  expect(await rig.ended(job)).toMatchObject({ state: "done", crashes: 0, result: { by: pid } });
  await waitUntil("the old ones are gone", () => old.every((one) => !isAlive(one)));
  expect(servingOf(supervisor)).toHaveLength(2);
  expect(least).toBe(2);
});

test("a restart whose new child does not get ready keeps the old ones", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1 } });
  const [old] = servingOf(supervisor);
  process.env["NODE_OPTIONS"] = "--no-such-flag-of-node";
  try {
    expect(await supervisor.restart()).toBe(false);
  } finally {
    delete process.env["NODE_OPTIONS"];
  }
  expect(servingOf(supervisor).map(({ pid }) => pid)).toEqual([old!.pid]);
  expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done" });
});

test("grace is by kind: a stop waits for the one that may take its time, and releases the other", async () => {
  const supervisor = await rig.start({ grace: 100, worker: { minInstances: 1, graceByKind: { slow: "1h" } } });
  const held = await rig.enqueue("held");
  await rig.runs(held);
  const slow = await rig.enqueue("slow", { ms: 1_500 });
  await waitUntil("both run", () => supervisor.children().some(({ running }) => running === 2));
  await supervisor.stop();
  expect(await rig.ended(slow)).toMatchObject({ state: "done" });
  const [row] = await rig.db.query("select state, attempt, crashes from fairmill.job where id = $1", [held]);
  expect(row).toEqual({ state: "ready", attempt: 0, crashes: 0 });
});

test("a supervisor that is killed: its children end, and another host's runs their jobs when the lease is over", async () => {
  const script = fileURLToPath(new URL("./supervisor-process.mjs", import.meta.url));
  const victim = fork(script, {
    env: { ...process.env, TEST_MODULE: MODULE },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [message] = (await once(victim, "message")) as [{ pids: number[] }];
  const jobs = await Promise.all([rig.enqueue("held"), rig.enqueue("blocking", { ms: 600_000 })]);
  for (const job of jobs) await rig.runs(job);
  victim.kill("SIGKILL");
  await waitUntil("its children are gone, also the one whose loop is blocked", () =>
    message.pids.every((pid) => !isAlive(pid)),
  );
  await rig.db.query("update fairmill.job set cancel_requested_at = now() where id = $1", [jobs[1]]);
  await rig.start({ worker: { minInstances: 2 } });
  await rig.letGo();
  expect(await rig.ended(jobs[1]!)).toMatchObject({ state: "cancelled" });
  expect(await rig.ended(jobs[0]!)).toMatchObject({ state: "done", crashes: 1 });
});

test("children have rows of their own, with their figures, and so has what they came to", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 2, pool: "mill" } });
  await servingAtLeast(supervisor, 2);
  await rig.ended(await rig.enqueue("quick"));
  await waitUntil("the rows say so", async () => {
    const rows = await rig.db.query(
      `select c.state, c.memory_bytes > 1000000 as memory, c.uptime > '0' and c.cpu > 0 as up, c.jobs_processed::integer as jobs
       from fairmill.child c join fairmill.supervisor s on s.id = c.supervisor where s.pool = 'mill' order by c.number`,
    );
    return (
      rows.length === 2 &&
      rows.every(({ state, memory, up }) => state === "ready" && memory && up) &&
      rows[0]!["jobs"] + rows[1]!["jobs"] === 1
    );
  });
  const names = supervisor
    .metrics()
    .filter(({ child }) => child === 1)
    .map(({ name, type }) => [name, type]);
  expect(names).toEqual([
    ["worker.cpu", "gauge"],
    ["worker.memory", "gauge"],
    ["worker.uptime", "counter"],
    ["worker.jobs_processed", "counter"],
  ]);
  // Processor time and age are both those of the process: a start that loads much is no use of forty cores.
  for (const { cpu } of supervisor.children()) expect(cpu).toBeLessThanOrEqual(availableParallelism() * 1.1);
  expect(supervisor.health()).toMatchObject({ ok: true, live: true, ready: true, children: { wanted: 2, serving: 2 } });
  await using client = createClient({ databaseUrl: rig.db.url });
  const text = await client.metrics.prometheus();
  expect(text).toContain('fairmill_pool_desired{pool="mill"} 2\n');
  expect(text).toContain('fairmill_pool_children{pool="mill",state="ready"} 2\n');
  for (const name of ["cpu", "memory_bytes", "uptime_seconds", "jobs_processed_total"])
    expect(text).toMatch(new RegExp(`fairmill_child_${name}\\{pool="mill",host="[^"]+",child="1"\\} \\d`));
  await supervisor.stop();
  expect(await rig.db.query("select from fairmill.child")).toEqual([]);
});

test("inline: everything in one process", async () => {
  const supervisor = await rig.start({ inline: true });
  expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done", result: { by: process.pid } });
  expect(supervisor.children()).toEqual([]);
});
