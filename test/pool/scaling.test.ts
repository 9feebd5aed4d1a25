// B11 and requirement D5: the autoscaler with real children and a real backlog: up, down, to zero and back; every decision on record.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { LeastBusyAllocation, WorkerBusyError } from "fairmill/pool";
import { afterEach, expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { heard, servingAtLeast, servingOf, useRig } from "./rig.js";

const rig = useRig();

const decisions = () =>
  rig.db.query<{ action: string; current: number; target: number; reason: string; inputs: Record<string, unknown> }>(
    "select action, current, target, reason, inputs from fairmill.scale_decision order by id",
  );

test("more wait than may: more children at once; nothing to do: fewer, idle ones first, and none that has just been given work", async () => {
  process.env["TEST_POOL_CONCURRENCY"] = "10";
  const supervisor = await rig.start({
    concurrency: 2,
    worker: {
      minInstances: 1,
      maxInstances: 3,
      policy: "targetWait",
      targetWait: "1s",
      scaleInterval: "100ms",
      idleBelow: 0.9,
      busyAbove: 1,
      idleFor: 300,
    },
  });
  expect(servingOf(supervisor)).toHaveLength(1);
  await rig.db.query("select fairmill.set_limits_v1('tenant', 'paused', '{\"paused\": true}')");
  await rig.db.query(
    "select * from fairmill.enqueue_many_v1((select jsonb_agg(jsonb_build_object('kind', 'quick', 'tenant', 'paused')) from generate_series(1, 50)))",
  );
  // They last until three children serve, however long these take to start.
  const jobs = await Promise.all(Array.from({ length: 8 }, () => rig.enqueue("held")));
  await servingAtLeast(supervisor, 3);
  await rig.letGo();
  for (const job of jobs) await rig.ended(job);
  await rig.db.query("delete from public.word");
  const held = await rig.enqueue("held");
  const [pid] = await rig.runs(held);
  await waitUntil("one is left", () => servingOf(supervisor).length === 1);
  expect(servingOf(supervisor)[0]!.pid).toBe(pid);
  await rig.letGo();
  expect(await rig.ended(held)).toMatchObject({ state: "done", crashes: 0, attempt: 1, result: { by: pid } });

  const said = await decisions();
  expect(said[0]).toMatchObject({ action: "up", current: 1 });
  expect(said.filter(({ action }) => action !== "suppressed").map(({ action }) => action)).toContain("down");
  for (const { inputs } of said) expect(inputs).toMatchObject({ capacity: 2, heldBack: { paused: 50 } });
  for (const { target } of said) expect(target).toBeLessThanOrEqual(3);
});

test("to zero and back: without a child nothing is claimed, and a runnable job brings one", async () => {
  const supervisor = await rig.start({ worker: { minInstances: 0, scaleInterval: "100ms", idleFor: 200 } });
  await rig.ended(await rig.enqueue("quick"));
  const zero = heard(supervisor, "scaled", ({ decision }) => decision.target === 0 && decision.current === 0);
  await zero;
  expect(servingOf(supervisor)).toEqual([]);
  expect(supervisor.health()).toMatchObject({ ok: true });
  expect(await rig.ended(await rig.enqueue("quick"))).toMatchObject({ state: "done" });
  expect((await decisions()).map(({ action, target }) => [action, target])).toEqual(
    expect.arrayContaining([
      ["up", 1],
      ["down", 0],
    ]),
  );
});

test("a child is not taken away from a job that was claimed and has not reached it yet: to the database it runs already", async () => {
  let isOpen = false;
  const shut = new LeastBusyAllocation();
  const supervisor = await rig.start({
    worker: {
      minInstances: 0,
      scaleInterval: "100ms",
      idleFor: 200,
      allocation: {
        allocate: (job, workers) =>
          isOpen ? shut.allocate(job, workers) : { ok: false, error: new WorkerBusyError() },
      },
    },
  });
  const job = await rig.enqueue("quick");
  await waitUntil(
    "it is claimed",
    async () => (await rig.db.query("select from fairmill.job where state = 'running'")).length > 0,
  );
  const { length } = await decisions();
  for (let n = 0; n < 6; n++) await heard(supervisor, "scaled");
  expect(servingOf(supervisor)).toHaveLength(1);
  expect((await decisions()).slice(length).filter(({ action }) => action === "down")).toEqual([]);
  isOpen = true;
  await rig.ended(await rig.enqueue("quick"));
  expect(await rig.ended(job)).toMatchObject({ state: "done" });
});

test("a decision that something stands against is on record, once, with the reason", async () => {
  const supervisor = await rig.start({
    concurrency: 1,
    worker: {
      minInstances: 1,
      maxInstances: 4,
      policy: "targetWait",
      targetWait: "100ms",
      scaleInterval: "100ms",
      connections: { perChild: 5, max: 9 },
    },
  });
  for (let n = 0; n < 12; n++) await rig.enqueue("slow", { ms: 400 });
  await heard(
    supervisor,
    "scaled",
    ({ decision }) => decision.action === "suppressed" && /1 by connections/.test(decision.reason),
  );
  await waitUntil("it is on record", async () => (await decisions()).some(({ action }) => action === "suppressed"));
  expect(servingOf(supervisor)).toHaveLength(1);
  expect(await rig.db.query("select fairmill.desired_workers_v1() as desired")).toEqual([{ desired: 1 }]);
});

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly authorization: string | undefined;
  readonly type: string | undefined;
}

const servers: { close(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** An API server that knows one Deployment and two pods. */
async function kubernetes(replicas: number, pods: string[]) {
  const calls: Call[] = [];
  const state = { replicas, ready: replicas, isForbidden: false };
  const read = async (request: IncomingMessage) => {
    let text = "";
    for await (const part of request) text += part;
    return text === "" ? undefined : (JSON.parse(text) as { spec?: { replicas: number } });
  };
  const server = createServer(async (request, response) => {
    const body = await read(request);
    const { method = "", url: path = "" } = request;
    calls.push({
      method,
      path,
      body,
      authorization: request.headers.authorization,
      type: request.headers["content-type"],
    });
    if (state.isForbidden) {
      response.writeHead(403).end("{}");
      return;
    }
    if (method === "PATCH" && path.endsWith("/scale")) state.replicas = body!.spec!.replicas;
    const answer = path.includes("/pods")
      ? { items: pods.map((name) => ({ metadata: { name } })) }
      : { spec: { replicas: state.replicas }, status: { readyReplicas: state.ready } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, state };
}

test("a Kubernetes Deployment is scaled by its subresource, with the account's token; idle pods are made cheap before one is taken away", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fairmill-account-"));
  try {
    await writeFile(join(folder, "token"), "first-token\n");
    await writeFile(join(folder, "namespace"), "mills\n");
    const api = await kubernetes(1, ["idle-pod", hostname()]);
    const supervisor = await rig.start({
      concurrency: 2,
      worker: {
        minInstances: 1,
        maxInstances: 5,
        policy: "targetWait",
        targetWait: "100ms",
        idleFor: 300,
        scaleInterval: "10m",
        target: {
          kubernetes: { deployment: "mill", apiUrl: api.url, serviceAccountFolder: folder, selector: "app=mill" },
        },
      },
    });
    // Children of a pod are fixed: it is pods that are scaled.
    expect(servingOf(supervisor)).toHaveLength(1);
    await rig.ended(await rig.enqueue("slow", { ms: 300 }));
    for (let n = 0; n < 8; n++) await rig.enqueue("held");
    await waitUntil(
      "its worker says that it is busy",
      async () =>
        (await rig.db.query("select from fairmill.worker where (stats ->> 'running')::integer = 2")).length > 0,
    );
    expect(await supervisor.scaleOnce()).toMatchObject({ action: "up", current: 1, target: 5 });
    expect(api.state.replicas).toBe(5);
    expect(api.calls.at(-1)).toEqual({
      method: "PATCH",
      path: "/apis/apps/v1/namespaces/mills/deployments/mill/scale",
      body: { spec: { replicas: 5 } },
      authorization: "Bearer first-token",
      type: "application/merge-patch+json",
    });
    // Not before they are ready.
    expect(await supervisor.scaleOnce()).toMatchObject({ action: expect.stringMatching("suppressed|hold"), target: 5 });
    api.state.ready = 5;

    await writeFile(join(folder, "token"), "second-token\n");
    await rig.letGo();
    await waitUntil("all is done", async () => (await rig.db.query("select from fairmill.job")).length === 0);
    await rig.db.query(
      "insert into fairmill.worker (id, lease_until, host, stats) values ('other', now() + interval '1 h', 'idle-pod', '{\"running\": 0}')",
    );
    await rig.db.query(
      "insert into fairmill.supervisor (id, pool, worker, started_at, seen_at, report_every) values ('other', 'default', 'other', now(), now(), '1 h')",
    );
    const down = await waitUntil("one fewer", async () => {
      const decision = await supervisor.scaleOnce();
      return decision?.action === "down" ? decision : undefined;
    });
    expect(down).toMatchObject({ current: 5, target: 4 });
    const priced = api.calls.filter(({ path, method }) => method === "PATCH" && path.includes("/pods/"));
    expect(priced.map(({ path }) => path.split("/").at(-1)).toSorted()).toEqual([hostname(), "idle-pod"].toSorted());
    expect(priced[0]!.body).toEqual({
      metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": "0" } },
    });
    expect(api.calls.at(-1)).toMatchObject({
      path: expect.stringContaining("/scale"),
      authorization: "Bearer second-token",
    });
    expect(api.calls.find(({ path }) => path.includes("/pods?"))!.path).toContain("labelSelector=app%3Dmill");

    // Refused: trouble that says what to grant, and nothing on record.
    api.state.isForbidden = true;
    await expect(supervisor.scaleOnce()).rejects.toMatchObject({
      code: "FAIRMILL_KUBERNETES",
      message: expect.stringContaining("status 403"),
    });
    // Another supervisor leads: this one does nothing.
    await rig.db.query("update fairmill.pool set leader = 'other', leader_until = now() + interval '1 h'");
    expect(await supervisor.scaleOnce()).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});
