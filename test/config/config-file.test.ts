// The config file: where it is found, what it may be written in, and what is said when it is wrong.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { cli, scratchFolder } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";

const NOWHERE = ["--database-url", "postgres://nobody@127.0.0.1:1/none"];

test.concurrent.each([
  [
    "fairmill.config.ts",
    "import { defineConfig } from 'fairmill';\nexport default defineConfig({ handler: [] });",
    'unknown setting "handler". Did you mean "handlers"?',
  ],
  ["fairmill.config.ts", "export const config = {};", "fairmill.config.ts has no default export"],
  [
    "fairmill.config.ts",
    "const nothing: any = undefined;\n\nexport default nothing.x;",
    "Cannot read properties of undefined (reading 'x') (fairmill.config.ts:3)",
  ],
  ["fairmill.config.ts", "export default {{;", "fairmill.config.ts could not be loaded: "],
  ["fairmill.config.ts", "import 'no-such-package';\nexport default {};", "Cannot find module 'no-such-package'"],
  ["fairmill.config.mjs", "export const config = {};", "fairmill.config.mjs has no default export"],
  [
    "fairmill.config.mjs",
    "export default { concurency: 3 };",
    'fairmill.config.mjs: unknown setting "concurency". Did you mean "concurrency"?',
  ],
  ["fairmill.config.mjs", "export default [];", "the settings must be an object"],
  ["fairmill.config.mjs", "export default {{;", 'Run "node --check fairmill.config.mjs" to see where.'],
  [
    "fairmill.config.js",
    "export default { handlers: [async () => {}] };",
    "handlers[0] is a bare function; it must be made by handle(",
  ],
  [
    "fairmill.config.js",
    "const job = { kind: 'x', backoff() {} };\nexport default { handlers: [job] };",
    "handlers[0] is a job definition without a function",
  ],
  [
    "fairmill.config.js",
    "const job = { kind: 'x', backoff() {} };\nexport default { grace: 'soon', handlers: [{ definition: job, run() {} }] };",
    'fairmill.config.js: grace: "soon" is not a duration',
  ],
  [
    "fairmill.config.js",
    "const job = { kind: 'x', backoff() {} };\nexport default { queues: { default: 2 }, handlers: [{ definition: job, run() {} }] };",
    "queues.default: 2 is no object of settings. Known: concurrency, prefetch.",
  ],
  ["fairmill.config.js", "export default { jobs: ['x'] };", "jobs[0] is of type string; it must be made by defineJob("],
  [
    "fairmill.config.js",
    "export default { dashboard: { creditWorth: '4' } };",
    'dashboard.creditWorth: "4" is not what a credit is worth',
  ],
  ["fairmill.config.js", "export default { dashboard: { link: [] } };", 'Did you mean "links"?'],
  ["fairmill.config.json", '{ "schema": "x", }', "fairmill.config.json could not be loaded: "],
  ["fairmill.config.json", '{ "schema": "x" }', "fairmill.config.json has no handlers, so there is nothing to run"],
])("%s with %j is refused by name", async (file, text, reason) => {
  const cwd = await scratchFolder({ [file]: text, "package.json": '{ "type": "module" }' });
  const { code, stdout, stderr } = await cli(["work", ...NOWHERE], { cwd });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(reason);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
});

test("the nearest config upwards counts, in TypeScript with its own syntax and top-level await", async () => {
  const cwd = await scratchFolder({
    "fairmill.config.ts": `import { defineConfig, type Config } from "fairmill";
enum Schema { Mine = "mine" }
const settings: Config = await Promise.resolve({ schema: Schema.Mine });
export default defineConfig(settings);`,
  });
  const below = join(cwd, "some", "where");
  await mkdir(below, { recursive: true });
  const { code, stdout } = await cli(["migrate", "--print"], { cwd: below });
  expect(code).toBe(0);
  expect(stdout).toContain("create table mine.job ");
});

test("--config names another file, and the command line goes before the environment and the config", async () => {
  const cwd = await scratchFolder({ "other.json": '{ "schema": "of_config" }', "fairmill.config.json": "broken" });
  const print = ["migrate", "--print", "--config", "other.json"];
  const env = { FAIRMILL_SCHEMA: "of_environment" };
  const [config, environment, flag] = await Promise.all([
    cli(print, { cwd }),
    cli(print, { cwd, env }),
    cli([...print, "--schema", "of_flag"], { cwd, env }),
  ]);
  expect(config.stdout).toContain("create table of_config.job ");
  expect(environment.stdout).toContain("create table of_environment.job ");
  expect(flag.stdout).toContain("create table of_flag.job ");
});

describe("a config that is broken", () => {
  const db = useDatabase();
  const broken = { "fairmill.config.ts": "export default {{;" };
  const env = () => ({ DATABASE_URL: db.url });

  test("does not keep commands from looking at jobs and steering them; one line says so", async () => {
    const cwd = await scratchFolder(broken);
    const client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(defineJob<object>({ kind: "work" }), {});
    await client.close();
    const commands = [
      ["jobs"],
      ["jobs", "--json"],
      ["job", id],
      ["why", id],
      ["retry", id],
      ["cancel", id],
      ["tenants"],
      ["queues"],
      ["pause", "--queue", "mails"],
      ["outbox"],
      ["schedules"],
      ["migrate", "--check"],
      ["migrate", "--schema", "fairmill"],
    ];
    const said = await Promise.all(commands.map((args) => cli(args, { cwd, env: env() })));
    for (const [n, { code, stderr }] of said.entries()) {
      const args = commands[n]!;
      expect({ args, code }).toEqual({ args, code: 0 });
      if (args.includes("--schema")) expect(stderr).toBe("");
      else
        expect(stderr).toMatch(
          /^Note: going on without the config; the schema is "fairmill" unless --schema names another one\. fairmill\.config\.ts could not be loaded: .*\n$/,
        );
    }
  });

  test.each([["work"], ["enqueue", "work", "{}"], ["migrate"]])(
    "ends %s, which cannot do without it",
    async (...args) => {
      const { code, stderr } = await cli(args, { cwd: await scratchFolder(broken), env: env() });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: fairmill\.config\.ts could not be loaded/);
    },
  );

  test("is the reason when nothing else names a database", async () => {
    const { code, stderr } = await cli(["jobs"], { cwd: await scratchFolder(broken) });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: fairmill\.config\.ts could not be loaded/);
  });
});

test("TypeScript goes before what a compiler left beside it", async () => {
  const cwd = await scratchFolder({
    "package.json": '{ "type": "module" }',
    "fairmill.config.ts": 'import { schema } from "./schema.js";\nexport default { schema };',
    "schema.ts": 'import { name } from "./name.mjs";\nexport const schema: string = name;',
    "schema.js": 'export const schema = "stale";',
    "name.mjs": 'export const name = "of_typescript";',
  });
  expect((await cli(["migrate", "--print"], { cwd })).stdout).toContain("create table of_typescript.job ");
});

test("compiled TypeScript is kept by its content among the project's packages", async () => {
  const source = (kind: string) =>
    `import { defineConfig } from "fairmill";\nexport default defineConfig({ handler${kind}: [] as never });`;
  const cwd = await scratchFolder({ "fairmill.config.ts": source("One") });
  const kept = join(cwd, "node_modules/.cache/fairmill");
  await mkdir(join(cwd, "node_modules"));
  const unknown = async () => /unknown setting "\w+"/.exec((await cli(["migrate", ...NOWHERE], { cwd })).stderr)?.[0];
  expect(await unknown()).toBe('unknown setting "handlerOne"');
  const [file] = await readdir(kept);
  // What is kept is taken as long as the source is the same.
  const compiled = await readFile(join(kept, file!), "utf8");
  await writeFile(join(kept, file!), compiled.replace("handlerOne", "handlerKept"));
  expect(await unknown()).toBe('unknown setting "handlerKept"');
  await writeFile(join(cwd, "fairmill.config.ts"), source("Two"));
  expect(await unknown()).toBe('unknown setting "handlerTwo"');
});

test("a config that the command does not need is not loaded", async () => {
  const cwd = await scratchFolder({ "fairmill.config.mjs": "throw new Error('loaded');" });
  const { stderr } = await cli(["jobs", "--schema", "fairmill", ...NOWHERE], { cwd });
  expect(stderr).toContain("Check that PostgreSQL runs");
});
