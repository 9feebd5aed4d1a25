// `npm start -- --example fair-lanes`, without a terminal. The sticker bot is started in `test/stickers/start.test.ts`.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { cli, repo } from "./cli.js";
import { clone, npmStart } from "./clone.js";

const db = useDatabase();

const example = (folder: string, args: readonly string[] = [], env: Record<string, string> = {}) =>
  npmStart(folder, ["--example", "fair-lanes", ...args], env);

const schemas = async () =>
  (
    await db.query<{ nspname: string }>("select nspname from pg_namespace where nspname like 'fairmill%' order by 1")
  ).map(({ nspname }) => nspname);

function expectFairness(stdout: string): void {
  expect(stdout).toMatch(/acme 600\/600 .* bob 6\d\/6\d .* cleo 60\/60/);
  const left = [...stdout.matchAll(/^ {2}(bob|cleo) +6\d jobs done in [\d.]+ s, while (\d+) of acme's were still/gm)];
  expect(left.map(([, tenant]) => tenant).sort()).toEqual(["bob", "cleo"]);
  // Much more than a few: they did not merely end just before acme did.
  for (const [, , count] of left) expect(Number(count)).toBeGreaterThan(150);
}

describe("on its own PostgreSQL", () => {
  test("serves the small tenants while the large one waits, ends with exit code 0, and leaves DATABASE_URL alone", async () => {
    const folder = await clone();
    const { code, stdout, stderr } = await example(folder, [], { DATABASE_URL: db.url, DATABASE_DIRECT_URL: db.url })
      .ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expectFairness(stdout);
    expect(stdout).toMatch(
      /^Database: postgres:\/\/127\.0\.0\.1:\d+\/fairmill \(PostgreSQL .*\), data in \.fairmill\/postgres\/cluster$/m,
    );
    expect(stdout).toContain("DATABASE_URL is set, and not used.");
    expect(stdout).toContain("env -u DATABASE_URL node dist/cli/main.js jobs --tenant bob");
    expect(await db.query("select id from fairmill.job union all select id from fairmill.job_history")).toEqual([]);
    expect(await db.query("select id from fairmill.worker")).toEqual([]);
  });

  test("says who runs already when it is started a second time, and does not disturb that one", async () => {
    const folder = await clone();
    const first = example(folder);
    await first.line("/600 (");
    // It must not be done before the second one looks.
    first.child.kill("SIGSTOP");
    const second = await example(folder).ended;
    first.child.kill("SIGCONT");
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(
      new RegExp(`is run already, by process ${first.child.pid}: .*\\nStop that one .*, or look`),
    );
    const { code, stdout } = await first.ended;
    expect(code).toBe(0);
    expectFairness(stdout);
  });

  test("ends at once at a signal while PostgreSQL is being made, and starts the next time", async () => {
    const folder = await clone();
    const running = example(folder);
    await running.line("Starting PostgreSQL");
    running.child.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    const again = example(folder);
    await again.line("/600 (");
    again.child.kill("SIGINT");
    expect((await again.ended).code).toBe(0);
  });
});

describe("on a database that is named on the command line", () => {
  afterEach(() => db.query("drop schema if exists fairmill_example cascade"));

  test("works in a schema of its own and drops it; jobs that others add are shown with the rest", async () => {
    const running = example(repo, ["--database-url", db.url]);
    await running.line("/600 (");
    const enqueue = (tenant: string) =>
      cli(["enqueue", "picture.draw", "--tenant", tenant, "--queue", "pictures"], {
        env: { DATABASE_URL: db.url, FAIRMILL_SCHEMA: "fairmill_example" },
      });
    for (const tenant of ["bob", "bob", "dora"]) expect((await enqueue(tenant)).code).toBe(0);
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Database: 127\.0\.0\.1:\d+\/\w+, in the schema fairmill_example, which is made for/m);
    expectFairness(stdout);
    expect(stdout).toMatch(/bob 62\/62/);
    expect(stdout).toMatch(/dora 1\/1/);
    expect(await schemas()).toEqual(["fairmill"]);
    expect(await db.query("select id from fairmill.job union all select id from fairmill.job_history")).toEqual([]);
  });

  test("stops at a signal, its workers with it, and cleans up", async () => {
    const running = example(repo, [`--database-url=${db.url}`]);
    await running.line("/600 (");
    running.child.kill("SIGTERM");
    const { code, stdout } = await running.ended;
    expect({ code, last: stdout.trimEnd().split("\n").at(-1) }).toEqual({ code: 0, last: "Stopping …" });
    expect(await schemas()).toEqual(["fairmill"]);
  });

  test("does not touch what another run has there", async () => {
    await db.query("create schema fairmill_example");
    const { code, stderr } = await example(repo, ["--database-url", db.url]).ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^error: The schema fairmill_example is in .* already/),
    });
    expect(await schemas()).toEqual(["fairmill", "fairmill_example"]);
  });

  test("says how when it was named in another way", async () => {
    const { code, stderr } = await example(repo, [db.url]).ended;
    expect(code).toBe(2);
    expect(stderr).toContain("npm start -- [--database-url postgres://…]");
  });
});

describe("the bars", async () => {
  const { LanesView } = await import(pathToFileURL(join(repo, "examples/fair-lanes/view.mjs")).href);
  /** A terminal that remembers what it was sent. */
  const terminal = (columns: number) => ({
    isTTY: true,
    columns,
    sent: "",
    write(text: string) {
      this.sent += text;
    },
  });
  const lanes = (done: number) => [
    { tenant: "acme", done: 3, total: 600 },
    { tenant: "bob", done, total: 60 },
    { tenant: "a tenant with a long name", done: 0, total: 0 },
  ];

  test.each([10, 20, 40, 60, 80, 200])("fit into %i columns, also when more is done than there was", (columns) => {
    for (const done of [0, 30, 60, 75]) {
      const out = terminal(columns);
      new LanesView(out).show(lanes(done));
      const lines = out.sent.trimEnd().split("\n");
      expect(lines).toHaveLength(3);
      for (const line of lines) expect(line.length).toBeLessThan(columns);
    }
  });

  test("are drawn over themselves, also when the window became narrower", () => {
    const out = terminal(80);
    const view = new LanesView(out);
    view.show(lanes(0));
    const widths = out.sent
      .trimEnd()
      .split("\n")
      .map((line) => line.length);
    out.columns = 40;
    out.sent = "";
    view.show(lanes(1));
    const up = widths.reduce((sum, width) => sum + Math.ceil(width / 40), 0);
    expect(up).toBeGreaterThan(3);
    expect(out.sent.startsWith(`\x1b[${up}A\x1b[J`)).toBe(true);
  });
});
