// Pods that something else starts and ends (KEDA): the brain says how many, `desired_workers_v1` tells, and what is on its way counts.
import { expect, test } from "vitest";
import type { Session } from "../../src/db/session.js";
import { readPools } from "../../src/pool/pool-views.js";
import { waitUntil } from "../support/wait.js";
import { servingAtLeast, servingOf, useRig } from "./rig.js";

const rig = useRig();
const desired = async () =>
  (await rig.db.query<{ desired: number }>("select fairmill.desired_workers_v1('mill') as desired"))[0]!.desired;

test("pods are counted, not children; what was asked for is there, and starting, until it lives; one pod decides", async () => {
  const supervisor = await rig.start({
    concurrency: 1,
    worker: {
      ...{
        pool: "mill",
        minInstances: 0,
        maxInstances: 4,
        policy: "targetWait",
        targetWait: "100ms",
        stepMax: 2,
        idleFor: 200,
      },
      target: { external: { childrenPerPod: 2 } },
    },
  });
  // Children of a pod are fixed, and its two are one pod.
  expect(await servingAtLeast(supervisor, 2)).toHaveLength(2);
  expect(await readPools(rig.db as unknown as Session)).toMatchObject([{ pool: "mill", wanted: 2, min: 0, max: 4 }]);
  await rig.ended(await rig.enqueue("slow", { ms: 300 }));
  for (let n = 0; n < 6; n++) await rig.enqueue("held");
  // As its next heartbeat says.
  await rig.db.query(`update fairmill.worker set stats = '{"running": 2, "utilisation": 1}'`);
  expect(await supervisor.scaleOnce()).toMatchObject({ action: "up", current: 1, target: 3 });
  expect(await desired()).toBe(3);
  // Nothing has started a pod yet: what was asked for is not taken back, and no more is asked for.
  const waiting = await supervisor.scaleOnce();
  expect(waiting).toMatchObject({ action: "suppressed", current: 3, target: 3 });
  expect(waiting!.reason).toMatch(/2 of 3 are still starting/);
  expect(await desired()).toBe(3);

  // The others are there: one more, which is the maximum.
  for (const pod of ["second", "third"]) {
    await rig.db.query(
      `insert into fairmill.worker (id, lease_until, host, stats) values ($1, now() + interval '1 h', $1, '{"running": 2, "utilisation": 1}')`,
      [pod],
    );
    await rig.db.query(
      "insert into fairmill.supervisor (id, pool, worker, started_at, seen_at, report_every) values ($1, 'mill', $1, now(), now(), '1 h')",
      [pod],
    );
  }
  expect(await supervisor.scaleOnce()).toMatchObject({ action: "up", current: 3, target: 4 });

  // Down one at a time, when both rules have agreed for the whole window; the last pod, too.
  await rig.letGo();
  await waitUntil("all is done", async () => (await rig.db.query("select from fairmill.job")).length === 0);
  await rig.db.query("update fairmill.worker set stats = '{}'");
  const seen = new Set<number>();
  await waitUntil("none is wanted", async () => {
    seen.add((await supervisor.scaleOnce())!.target);
    return (await desired()) === 0;
  });
  expect([...seen].filter((target) => target < 4)).toEqual([3, 2, 1, 0]);
  expect(servingOf(supervisor)).toHaveLength(2);

  // Another pod leads: this one says nothing.
  await rig.db.query("update fairmill.pool set leader = 'second', leader_until = now() + interval '1 h'");
  expect(await supervisor.scaleOnce()).toBeUndefined();
});
