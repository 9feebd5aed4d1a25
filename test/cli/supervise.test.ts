// `fairmill supervise` and `fairmill workers` as processes: a TypeScript config, signals, a pool that cannot start, and what people see of it.
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { cli, jsonOf, project, repo, scratchFolder, startCli } from "./cli.js";

const db = useDatabase();

async function enqueue(kind: string, input: unknown = {}, queue = "default"): Promise<string> {
  const client = createClient({ databaseUrl: db.url });
  try {
    return (await client.enqueue(defineJob({ kind, queue }), input)).id;
  } finally {
    await client.close();
  }
}

const ended = (id: string) =>
  waitUntil(
    `job ${id} ends`,
    async () => (await db.query("select state, result from fairmill.job_history where id = $1", [id]))[0],
  );

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const pids = async () =>
  (
    await db.query<{ pid: number }>(
      "select pid from fairmill.child where state in ('ready', 'working') and not draining order by number",
    )
  ).map(({ pid }) => pid);

test("runs the handlers of a TypeScript config in children; SIGHUP replaces them, SIGTERM ends all of it with 0", async () => {
  const env = { DATABASE_URL: db.url };
  const supervise = startCli(["supervise", "--min", "2", "--max", "3"], { cwd: project, env });
  await supervise.line("Supervisor started");
  const [done, dead] = [await enqueue("greet", { name: "Ann" }, "greetings"), await enqueue("refuse")];
  expect(await ended(done)).toMatchObject({ state: "done", result: { greeting: "Hello, Ann!" } });
  // The class of the error is this package's, in the child as well.
  expect(await ended(dead)).toMatchObject({ state: "dead" });
  const before = await waitUntil("two children are on record", async () => {
    const found = await pids();
    return found.length === 2 ? found : undefined;
  });

  const shown = await cli(["workers"], { env });
  expect(shown.stdout).toMatch(/^WORKER +POOL +PID +STATE +RUNNING +JOBS +CPU +MEMORY +UP/);
  expect(shown.stdout).toMatch(/ default +\d+ +alive /);
  expect(shown.stdout).toMatch(new RegExp(`\\n {2}child 1 +${before[0]} +(ready|working) `));
  const { workers } = jsonOf(await cli(["workers", "--json"], { env })) as {
    workers: { children: { pid: number }[] }[];
  };
  expect(workers[0]!.children.map(({ pid }) => pid)).toEqual(before);
  expect((await cli(["workers", "--decisions", "default"], { env })).stdout).toBe(
    'Nothing was decided about pool "default".\n',
  );

  supervise.child.kill("SIGHUP");
  await waitUntil("both are new", async () => {
    const now = await pids();
    return now.length === 2 && now.every((pid) => !before.includes(pid));
  });
  expect(await ended(await enqueue("greet", { name: "Bob" }, "greetings"))).toMatchObject({ state: "done" });
  const last = await pids();
  supervise.child.kill("SIGTERM");
  expect((await supervise.ended).code).toBe(0);
  for (const pid of last) expect(() => process.kill(pid, 0)).toThrow();
  expect((await cli(["workers"], { env })).stdout).toBe("No worker lives.\n");
  expect((await cli(["workers", "--all"], { env })).stdout).toContain(" stopped ");
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)(
  "%s while children still load ends all of it with 0; a second signal while a job runs, with %i",
  async (signal, code) => {
    const cwd = await scratchFolder({
      "fairmill.config.mjs": `import { defineConfig, defineJob, handle } from ${JSON.stringify(join(repo, "dist/index.js"))};
      if (process.env.LOADS && process.argv[1].endsWith("pool-child.js")) {
        console.log("loading");
        await new Promise((resolve) => setTimeout(resolve, 600_000));
      }
      export default defineConfig({
        handlers: [handle(defineJob({ kind: "hold" }), () => {
          console.log("holding");
          return new Promise((resolve) => setTimeout(resolve, 600_000));
        })],
        worker: { minInstances: 1 },
      });`,
    });
    const loading = startCli(["supervise"], { cwd, env: { DATABASE_URL: db.url, LOADS: "1" } });
    await loading.line("loading");
    loading.child.kill(signal);
    const ended = await loading.ended;
    expect([ended.code, ended.stderr]).toEqual([0, ""]);

    const supervise = startCli(["supervise"], { cwd, env: { DATABASE_URL: db.url } });
    await enqueue("hold");
    await supervise.line("holding");
    const [child] = await waitUntil("its child is on record", async () => {
      const found = await pids();
      return found.length > 0 ? found : undefined;
    });
    supervise.child.kill("SIGTERM");
    await supervise.line("Worker stopping");
    supervise.child.kill(signal);
    expect((await supervise.ended).code).toBe(code);
    // The children of a supervisor that is gone end by themselves.
    await waitUntil("its child has ended", () => !isAlive(child!));
  },
);

test("inline: no children", async () => {
  const supervise = startCli(["supervise", "--inline", "--json"], { cwd: project, env: { DATABASE_URL: db.url } });
  expect(JSON.parse(await supervise.line("supervisor"))).toEqual({
    supervisor: expect.any(String),
    worker: expect.any(String),
  });
  expect(await ended(await enqueue("greet", { name: "Ann" }, "greetings"))).toMatchObject({ state: "done" });
  expect(await db.query("select from fairmill.child")).toEqual([]);
  supervise.child.kill("SIGHUP");
  await supervise.note("There are no children to replace");
  supervise.child.kill("SIGTERM");
  expect((await supervise.ended).code).toBe(0);
});

test("children that cannot start: exit code 1, and the reason", async () => {
  const folder = await scratchFolder();
  const config = join(folder, "fairmill.config.mjs");
  await writeFile(
    config,
    `import { defineConfig, defineJob, handle } from ${JSON.stringify(join(repo, "dist/index.js"))};
     if (process.argv[1].endsWith("pool-child.js")) throw new Error("no licence for this machine");
     export default defineConfig({ handlers: [handle(defineJob({ kind: "x" }), () => {})], worker: { minInstances: 1 } });`,
  );
  const { code, stderr } = await cli(["supervise", "--config", config], {
    env: { DATABASE_URL: db.url, FAIRMILL_LOG_LEVEL: "silent" },
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/fail again and again, 3 times in a row/);
  expect(stderr).toMatch(/no licence for this machine/);
});

test.each([
  [["supervise", "--min", "5", "--max", "2"], /minInstances: 5 is more than maxInstances, which is 2/],
  [["supervise", "--max", "0"], /--max/],
  [["supervise", "--inline", "--max", "4"], /--max: with --inline there are no processes to count/],
  [["workers", "--limit", "0"], /--limit/],
])("%j is refused", async (args, message) => {
  const { code, stderr } = await cli(args, { cwd: project, env: { DATABASE_URL: db.url } });
  expect(code).not.toBe(0);
  expect(stderr).toMatch(message);
});

test("a worker whose lease is over, and which no upkeep has looked at yet, is no living one", async () => {
  await db.query(
    "insert into fairmill.worker (id, lease_until, beat_at) values ('gone', now() - interval '1 s', now() - interval '20 s')",
  );
  const { stdout } = await cli(["workers"], { env: { DATABASE_URL: db.url } });
  expect(stdout).toMatch(/gone +silent .*last beat .*: its lease is over/);
});

test("the recipes start commands that there are, by a path that the package has", () => {
  for (const recipe of ["Dockerfile", "compose.yaml", "fairmill.service"]) {
    const text = readFileSync(join(repo, "deploy", recipe), "utf8");
    const [, path, command] = /node_modules\/fairmill\/([\w./]+)"?,? "?(\w+)/.exec(text)!;
    expect(existsSync(join(repo, path!)), recipe).toBe(true);
    expect(["supervise", "migrate"]).toContain(command);
  }
});
