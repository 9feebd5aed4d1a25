// A phased restart after a deployment: kinds and queues that the new code has are claimed, without a new supervisor.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, defineJob } from "fairmill";
import { LeastBusyAllocation, WorkerBusyError } from "fairmill/pool";
import { afterEach, expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { heard, servingAtLeast, servingOf, useRig } from "./rig.js";

const rig = useRig();
const here = dirname(fileURLToPath(import.meta.url));
let folder: string | undefined;
afterEach(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** A module with these kinds, each in a queue of its own. */
const release = (kinds: readonly string[], more = "") => `
  import { defineConfig, defineJob, handle, silentLogger } from "fairmill";
  const kinds = ${JSON.stringify(kinds)};
  const wait = () => new Promise((resolve) => setTimeout(resolve, 1_000));
  export default defineConfig({
    handlers: kinds.map((kind) => handle(defineJob({ kind, queue: kind + "s" }), async () => {
      if (kind === "lasting") await wait();
      return { by: process.pid, release: ${kinds.length} };
    })),
    logger: silentLogger, poll: "1s", ${more}
  });`;

test("SIGHUP: new kinds and queues are claimed from then on, old ones that are gone are not, and what runs ends where it runs", async () => {
  // Beside the tests, so that the package is found.
  folder = await mkdtemp(join(here, ".release-"));
  const module = join(folder, "module.mjs");
  await writeFile(module, release(["old", "lasting"]));
  const supervisor = await rig.start({ module, worker: { minInstances: 2 } });
  const client = createClient({ databaseUrl: rig.db.url });
  const add = async (kind: string) => (await client.enqueue(defineJob({ kind, queue: `${kind}s` }), {})).id;
  try {
    expect((await rig.ended(await add("old"))).result).toMatchObject({ release: 2 });
    const fresh = await add("fresh");
    const lasting = await add("lasting");
    await waitUntil("it runs", () => servingOf(supervisor).some(({ running }) => running === 1));
    await writeFile(module, release(["lasting", "fresh", "other"], "concurrency: 3"));
    const adopted = heard(supervisor, "adopted");
    expect(await supervisor.restart()).toBe(true);
    expect(await adopted).toEqual({
      kinds: ["lasting", "fresh", "other"],
      queues: ["lastings", "freshs", "others"],
    });
    expect((await rig.ended(fresh)).result).toMatchObject({ release: 3 });
    expect(await rig.ended(lasting)).toMatchObject({ state: "done", crashes: 0, attempt: 1, result: { release: 2 } });
    const gone = await add("old");
    expect((await rig.ended(await add("other"))).result).toMatchObject({ release: 3 });
    expect(await client.job(gone)).toMatchObject({ state: "ready", attempt: 0 });
    // The settings that a supervisor on another host, and the autoscaler, go by.
    await waitUntil("the pool says so", async () => {
      const [row] = await rig.db.query<{ kinds: string[] }>("select settings -> 'kinds' as kinds from fairmill.pool");
      return row?.kinds.join() === "lasting,fresh,other";
    });
    // The same code again: nothing to adopt, and the worker stays.
    const { id } = supervisor.worker;
    expect(await supervisor.restart()).toBe(true);
    expect(supervisor.worker.id).toBe(id);
  } finally {
    await client.close();
  }
});

test("a job that was claimed, that no child has taken, and whose kind the new code does not have, goes back with its attempt unspent", async () => {
  folder = await mkdtemp(join(here, ".release-"));
  const module = join(folder, "module.mjs");
  await writeFile(module, release(["old", "lasting"]));
  const free = new LeastBusyAllocation();
  const allocation = {
    allocate: (job: Parameters<typeof free.allocate>[0], workers: Parameters<typeof free.allocate>[1]) =>
      job.kind === "old" ? ({ ok: false, error: new WorkerBusyError() } as const) : free.allocate(job, workers),
  };
  const supervisor = await rig.start({ module, worker: { minInstances: 1, allocation } });
  const client = createClient({ databaseUrl: rig.db.url });
  try {
    const { id } = await client.enqueue(defineJob({ kind: "old", queue: "olds" }), {});
    await waitUntil("it is claimed", async () => (await client.job(id))!.state === "running");
    await writeFile(module, release(["lasting"]));
    expect(await supervisor.restart()).toBe(true);
    await waitUntil("it is back", async () => (await client.job(id))!.state === "ready");
    expect(await client.job(id)).toMatchObject({ attempt: 0, crashes: 0 });
  } finally {
    await client.close();
  }
});

test("a child that came back with code that lacks a kind is not given its jobs: another child runs them", async () => {
  folder = await mkdtemp(join(here, ".release-"));
  const module = join(folder, "module.mjs");
  await writeFile(module, release(["old", "lasting"]));
  const supervisor = await rig.start({ module, worker: { minInstances: 2 } });
  const [first, second] = await servingAtLeast(supervisor, 2);
  await writeFile(module, release(["lasting"]));
  process.kill(first!.pid!, "SIGKILL");
  await waitUntil("it is back", () => servingOf(supervisor).filter(({ pid }) => pid !== first!.pid).length === 2);
  const client = createClient({ databaseUrl: rig.db.url });
  try {
    const jobs = await client.enqueueMany(
      defineJob({ kind: "old", queue: "olds" }),
      Array.from({ length: 8 }, () => ({ input: {} })),
    );
    for (const { id } of jobs)
      expect(await rig.ended(id)).toMatchObject({ state: "done", result: { by: second!.pid } });
  } finally {
    await client.close();
  }
});
