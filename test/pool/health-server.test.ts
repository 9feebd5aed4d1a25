// Probes of a cluster: liveness, readiness and how many workers there should be, by the pool's own rule.
import { expect, test } from "vitest";
import { listenHealth } from "../../dist/pool/health-server.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";
import { heard, servingOf, useRig } from "./rig.js";

const rig = useRig();
const open = new Set<{ close(): Promise<void> }>();
endAfterTest(async () => {
  for (const server of open) await server.close();
  open.clear();
});

async function probes(supervisor: Parameters<typeof listenHealth>[0]) {
  const server = await listenHealth(supervisor, { host: "127.0.0.1", port: 0 });
  open.add(server);
  return async (path: string, method = "GET") => {
    const response = await fetch(server.url + path, { method });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
}

test("a pool that works is live and ready, and says how many it should have; one whose only child is gone is live, and not ready", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 1, pool: "mill" } });
  const ask = await probes(supervisor);
  expect(await ask("/healthz")).toEqual({
    status: 200,
    body: { status: "ok", problems: [], children: { wanted: 1, serving: 1 } },
  });
  expect((await ask("/readyz")).status).toBe(200);
  await supervisor.scaleOnce();
  expect(await ask("/desired")).toEqual({ status: 200, body: { pool: "mill", desired: 1 } });
  expect((await ask("/jobs")).status).toBe(404);
  expect((await ask("/healthz", "POST")).status).toBe(405);
  const failed = heard(supervisor, "child", ({ child }) => child.state === "failed");
  process.kill(servingOf(supervisor)[0]!.pid!, "SIGKILL");
  await failed;
  expect(await ask("/readyz")).toMatchObject({ status: 503, body: { problems: ["none of 1 children is ready"] } });
  expect((await ask("/healthz")).status).toBe(200);
  await waitUntil("another one is ready", async () => (await ask("/readyz")).status === 200);
  await supervisor.stop();
  expect((await ask("/readyz")).status).toBe(503);
});

test("a pool whose worker is stuck, or whose children were given up, is not live", async () => {
  const health = {
    ...{ ok: false, live: false, ready: false, problems: ["upkeep has not succeeded for 90000 ms"] },
    ...{ parts: { claim: 0, upkeep: 90_000, heartbeat: 0 }, isListening: true, restarts: 0 },
    children: { wanted: 2, serving: 2 },
  };
  const ask = await probes({ pool: "p", health: () => health, desired: () => Promise.reject(new Error("away")) });
  expect(await ask("/healthz")).toMatchObject({ status: 503, body: { problems: health.problems } });
  expect(await ask("/desired")).toEqual({ status: 503, body: { status: "the database does not answer" } });
});
