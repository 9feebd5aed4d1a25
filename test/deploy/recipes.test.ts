// C11: the recipes in `deploy`, compared with what the code reads and answers: commands, options, ports, probes, rights, names of the environment, grace.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { listenHealth } from "../../dist/pool/health-server.js";
import { defineJob } from "../../src/core/job/job-definition.js";
import { handle } from "../../src/core/run/handler.js";
import { KubernetesError } from "../../src/pool/pool-errors.js";
import { checkWorkerOptions } from "../../src/worker/worker-settings.js";
import { useDatabase } from "../support/database.js";
import { readYaml } from "./plain-yaml.js";

const db = useDatabase();
const root = new URL("../../", import.meta.url);
const recipe = (name: string) => readFile(new URL(`deploy/${name}`, root), "utf8");
const { graceMs, abortGraceMs } = checkWorkerOptions({
  databaseUrl: "postgres://127.0.0.1/none",
  handlers: [handle(defineJob({ kind: "any" }), () => {})],
});
/** What stops a process must wait longer than it may take to stop. */
const STOP_S_MIN = (graceMs + abortGraceMs + 10_000) / 1_000;
const PORT = 7421;

/** The program, the command and its options are ones that there are. */
async function expectCommand(words: readonly string[]): Promise<void> {
  const { bin } = JSON.parse(await readFile(new URL("package.json", root), "utf8")) as { bin: { fairmill: string } };
  const [node, entry, command, ...options] = words;
  expect([node, entry]).toEqual(["node", `node_modules/fairmill/${bin.fairmill.replace("./", "")}`]);
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...[fileURLToPath(new URL(bin.fairmill, root)), command!, "--help"],
  ]);
  for (const option of options.filter((word) => word.startsWith("--"))) expect(stdout).toContain(option);
  if (command === "supervise") expect(options).toEqual(["--listen", `0.0.0.0:${PORT}`]);
}

/** What a health server answers under this path, for a pool that is well. */
async function statusOf(path: string): Promise<number> {
  const health = { ok: true, live: true, ready: true, problems: [], isListening: true, restarts: 0 };
  const facts = { parts: { claim: 0, upkeep: 0, heartbeat: 0 }, children: { wanted: 1, serving: 1 } };
  const server = await listenHealth(
    { pool: "default", health: () => ({ ...health, ...facts }), desired: async () => 3 },
    { host: "127.0.0.1", port: 0 },
  );
  const response = await fetch(server.url + path);
  if (path === "/desired") expect(await response.json()).toEqual({ pool: "default", desired: 3 });
  await server.close();
  return response.status;
}

test("what the Dockerfile copies leaves the packages of the host and its secrets out", async () => {
  expect(await recipe("Dockerfile")).toMatch(/npm ci[\s\S]*\nCOPY \. \.\n/);
  expect((await recipe(".dockerignore")).trim().split("\n")).toEqual(["node_modules", ".fairmill", ".git", ".env*"]);
});

test("the container file starts the supervisor without a shell, as no superuser, and asks a path that is answered", async () => {
  const text = await recipe("Dockerfile");
  const command = JSON.parse(/^CMD (\[.*\])$/m.exec(text)![1]!) as string[];
  await expectCommand(command);
  expect(text).toMatch(/^USER node$/m);
  expect(text).toMatch(new RegExp(`^EXPOSE ${PORT}$`, "m"));
  const check = JSON.parse(/^HEALTHCHECK .*CMD (\[.*\])$/m.exec(text)![1]!) as string[];
  const [, path] = /127\.0\.0\.1:7421(\/\w+)/.exec(check[2]!)!;
  expect(await statusOf(path!)).toBe(200);
  const { engines } = JSON.parse(await readFile(new URL("package.json", root), "utf8")) as {
    engines: { node: string };
  };
  expect(Number(/^FROM node:(\d+)/m.exec(text)![1])).toBeGreaterThan(Number(/\d+/.exec(engines.node)![0]));
});

test("compose: a migration before two replicas, which may take their time to stop", async () => {
  const [{ services }] = readYaml(await recipe("compose.yaml"));
  await expectCommand(services.migrate.command);
  expect(services.migrate.depends_on).toEqual({ db: { condition: "service_healthy" } });
  expect(services.mill.depends_on).toEqual({ migrate: { condition: "service_completed_successfully" } });
  expect(services.mill.deploy.replicas).toBe(2);
  expect(Number.parseInt(services.mill.stop_grace_period, 10)).toBeGreaterThanOrEqual(STOP_S_MIN);
  for (const service of [services.migrate, services.mill])
    expect(Object.keys(service.environment)).toEqual(["DATABASE_URL"]);
});

describe("Kubernetes", () => {
  test("two replicas with probes that are answered, the rights that the code needs and no others, and time to stop", async () => {
    const documents = readYaml(await recipe("kubernetes.yaml"));
    const of = (kind: string) => documents.find((document) => document.kind === kind);
    const { spec } = of("Deployment");
    expect(spec.replicas).toBe(2);
    const pod = spec.template.spec;
    const [container] = pod.containers;
    await expectCommand(container.args);
    expect(container.ports).toEqual([{ name: "health", containerPort: PORT }]);
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect(probe.httpGet.port).toBe("health");
      expect(await statusOf(probe.httpGet.path)).toBe(200);
    }
    // A pod that only has no child for a moment is not started again.
    expect([container.livenessProbe.httpGet.path, container.readinessProbe.httpGet.path]).toEqual([
      "/healthz",
      "/readyz",
    ]);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(STOP_S_MIN);
    expect(pod.serviceAccountName).toBe(of("ServiceAccount").metadata.name);
    expect(of("RoleBinding").roleRef.name).toBe(of("Role").metadata.name);
    const rights = of("Role").rules.map((rule: { resources: string[]; verbs: string[] }) => [
      rule.resources,
      rule.verbs,
    ]);
    expect(rights).toEqual([
      [["deployments"], ["get"]],
      [["deployments/scale"], ["get", "patch"]],
      [["pods"], ["list", "patch"]],
    ]);
    expect(new KubernetesError("", "").message).toContain(
      "get and patch on deployments/scale, get on deployments, list and patch on pods",
    );
    expect(of("Service").spec).toMatchObject({ selector: spec.selector.matchLabels, ports: [{ port: PORT }] });
  });

  test("KEDA asks the database a question that it can answer, and goes to zero", async () => {
    const [{ spec }] = readYaml(await recipe("keda.yaml"));
    const { metadata } = spec.triggers[0];
    expect(metadata.connectionFromEnv).toBe("DATABASE_URL");
    expect(spec.minReplicaCount).toBe(0);
    expect(await db.query(metadata.query)).toEqual([{ coalesce: 0 }]);
    await db.query(
      "insert into fairmill.pool (name, settings, desired, decided_at, decide_every) values ('default', '{}', 5, now(), '1 h')",
    );
    expect(await db.query(metadata.query)).toEqual([{ coalesce: 5 }]);
  });

  test("or asks the pods, under the name, port and path that they have", async () => {
    const [{ spec }] = readYaml(await recipe("keda-metrics-api.yaml"));
    const { metadata, type } = spec.triggers[0];
    const service = readYaml(await recipe("kubernetes.yaml")).find(({ kind }) => kind === "Service");
    const url = new URL(metadata.url);
    expect([type, url.hostname, Number(url.port)]).toEqual(["metrics-api", service.metadata.name, PORT]);
    expect(await statusOf(url.pathname)).toBe(200);
    expect(metadata.valueLocation).toBe("desired");
  });
});

describe("systemd", () => {
  const ANALYZE = "/usr/bin/systemd-analyze";
  if (!existsSync(ANALYZE)) console.log("The unit is not verified: there is no systemd-analyze here.");

  test("the unit reloads by SIGHUP, lets the supervisor end its children, and may take its time to stop", async () => {
    const text = await recipe("fairmill.service");
    const [, command] = /^ExecStart=\/usr\/bin\/(.*)$/m.exec(text)!;
    await expectCommand([...command!.split(" "), "--listen", `0.0.0.0:${PORT}`]);
    expect(text).toMatch(/^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
    expect(text).toMatch(/^KillMode=mixed$/m);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)![1])).toBeGreaterThanOrEqual(STOP_S_MIN);
  });

  test.skipIf(!existsSync(ANALYZE))("systemd has nothing to say against it", async () => {
    const file = fileURLToPath(new URL("deploy/fairmill.service", root));
    const { stderr } = await promisify(execFile)(ANALYZE, ["verify", file]).catch((error: { stderr: string }) => error);
    // What is not installed on this machine is no fault of the unit.
    expect(
      stderr.split("\n").filter((line) => line.includes("fairmill.service") && !/is not executable/.test(line)),
    ).toEqual([]);
  });
});

test("the reader of these files refuses what it does not know", () => {
  expect(readYaml('a: { b: [1, "x, y", true], c: d e }\nl:\n  - p: 1\n    q: "2"\n  - r')).toEqual([
    { a: { b: [1, "x, y", true], c: "d e" }, l: [{ p: 1, q: "2" }, "r"] },
  ]);
  for (const text of ["a: |\n  b", "\ta: 1", "a: 1\n   b: 2", "a: { b", "a: 1\na: 2"])
    expect(() => readYaml(text)).toThrow();
});
