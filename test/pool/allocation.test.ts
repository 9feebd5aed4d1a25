// Requirement D3: which child gets a job: strategies answer with a worker or with a typed refusal.
import {
  type AllocatableJob,
  KeyAffinityAllocation,
  LeastBusyAllocation,
  NoWorkersAvailableError,
  type PoolWorker,
  RoundRobinAllocation,
  type WorkerAllocationStrategy,
  WorkerBusyError,
} from "fairmill/pool";
import { describe, expect, test } from "vitest";
import { servingAtLeast, useRig } from "./rig.js";

const job = (key: string | null = null): AllocatableJob => ({
  id: "1",
  kind: "work",
  queue: "default",
  tenant: "acme",
  key,
  crashes: 0,
});
const workerOf = (number: number, running = 0, isFree = true): PoolWorker => ({
  number,
  state: running > 0 ? "working" : "ready",
  running,
  canAccept: () => isFree,
});
const three = [workerOf(1), workerOf(2), workerOf(3)];

function numbers(
  strategy: WorkerAllocationStrategy,
  workers: readonly PoolWorker[],
  times: number,
): (number | string)[] {
  return Array.from({ length: times }, () => {
    const answer = strategy.allocate(job(), workers);
    return answer.ok ? answer.worker.number : answer.error.name;
  });
}

describe.each([
  ["round robin", () => new RoundRobinAllocation()],
  ["least busy", () => new LeastBusyAllocation()],
  ["key affinity", () => new KeyAffinityAllocation()],
] as const)("%s", (_, make) => {
  test("without workers and with busy ones the refusal is typed", () => {
    expect(make().allocate(job(), [])).toMatchObject({ ok: false, error: expect.any(NoWorkersAvailableError) });
    expect(make().allocate(job(), [workerOf(1, 5, false)])).toMatchObject({
      ok: false,
      error: expect.any(WorkerBusyError),
    });
  });
});

test("round robin goes around, passes over who cannot, and goes on behind a worker that is gone", () => {
  expect(numbers(new RoundRobinAllocation(), three, 5)).toEqual([1, 2, 3, 1, 2]);
  expect(numbers(new RoundRobinAllocation(), [workerOf(1), workerOf(2, 9, false), workerOf(3)], 4)).toEqual([
    1, 3, 1, 3,
  ]);
  const strategy = new RoundRobinAllocation();
  expect(numbers(strategy, three, 2)).toEqual([1, 2]);
  expect(numbers(strategy, [workerOf(1), workerOf(4)], 2)).toEqual([4, 1]);
});

test("least busy is the one with the fewest that can", () => {
  expect(numbers(new LeastBusyAllocation(), [workerOf(1, 3), workerOf(2, 0, false), workerOf(3, 1)], 1)).toEqual([3]);
});

test("key affinity: a key stays with its worker; when one comes or goes only its keys move; strict ones wait", () => {
  const keys = Array.from({ length: 200 }, (_, n) => `k${n}`);
  const strategy = new KeyAffinityAllocation();
  const homes = (workers: readonly PoolWorker[]) =>
    keys.map((key) => {
      const answer = strategy.allocate(job(key), workers);
      return answer.ok ? answer.worker.number : 0;
    });
  const before = homes(three);
  expect(homes(three)).toEqual(before);
  expect(new Set(before)).toEqual(new Set([1, 2, 3]));
  const without = homes([three[0]!, three[2]!]);
  for (const [n, home] of before.entries()) if (home !== 2) expect(without[n]).toBe(home);
  const busyHome = (strict: boolean) =>
    new KeyAffinityAllocation({ strict }).allocate(
      job(keys[0]),
      three.map(({ number }) => workerOf(number, 1, number !== before[0])),
    );
  expect(busyHome(true)).toMatchObject({ ok: false, error: expect.any(WorkerBusyError) });
  expect(busyHome(false)).toMatchObject({ ok: true });
});

describe("in a pool", () => {
  const rig = useRig();

  test("a strategy of the user's decides; one that fails does not stop the work", async () => {
    let isBroken = false;
    const last: WorkerAllocationStrategy = {
      allocate: (one, workers) => {
        if (isBroken) throw new Error("no idea");
        const worker = workers.at(-1);
        if (worker === undefined) return { ok: false, error: new NoWorkersAvailableError() };
        return worker.canAccept(one) ? { ok: true, worker } : { ok: false, error: new WorkerBusyError() };
      },
    };
    const supervisor = await rig.start({ worker: { minInstances: 3, allocation: last } });
    const serving = await servingAtLeast(supervisor, 3);
    const jobs = await Promise.all(Array.from({ length: 6 }, () => rig.enqueue("quick")));
    for (const id of jobs) expect((await rig.ended(id)).result).toMatchObject({ by: serving.at(-1)!.pid });
    isBroken = true;
    expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done" });
  });

  test("more jobs than capacity: they wait for a child, and all are done", async () => {
    await rig.start({ concurrency: 1, worker: { minInstances: 2, allocation: "round-robin" } });
    const jobs = await Promise.all(Array.from({ length: 12 }, () => rig.enqueue("slow", { ms: 20 })));
    for (const id of jobs) expect(await rig.ended(id)).toMatchObject({ state: "done", attempt: 1 });
  });
});
