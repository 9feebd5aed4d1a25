// `npm start`: the example of fair lanes, where nobody sits at a terminal.
import { join } from "node:path";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { repo, start } from "./cli.js";

const db = useDatabase();
const example = () => start(join(repo, "scripts/start.mjs"), [], { env: { DATABASE_URL: db.url } });

test("serves the small tenants while the large one waits, and ends by itself with exit code 0", async () => {
  const { code, stdout } = await example().ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/acme 600\/600 .* bob 60\/60 .* cleo 60\/60/);
  const left = [...stdout.matchAll(/^ {2}(bob|cleo) +60 jobs done in [\d.]+ s, while (\d+) of acme's were still/gm)];
  expect(left.map(([, tenant]) => tenant).sort()).toEqual(["bob", "cleo"]);
  // Much more than a few: they did not merely end just before acme did.
  for (const [, , count] of left) expect(Number(count)).toBeGreaterThan(150);
  expect(stdout).toContain("node dist/cli/main.js jobs --tenant bob");

  const workers = await db.query("select worker, count(*)::int as jobs from fairmill.job_history group by worker");
  expect(workers).toHaveLength(2);
  expect(workers.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(720);
});

test("stops at a signal, and its workers with it", async () => {
  const running = example();
  await running.line("acme 0/600");
  running.child.kill("SIGTERM");
  const { code, stdout } = await running.ended;
  expect({ code, last: stdout.trimEnd().split("\n").at(-1) }).toEqual({ code: 0, last: "Stopping …" });
  expect(await db.query("select id from fairmill.job where state = 'running'")).toEqual([]);
});
