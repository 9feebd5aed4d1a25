// `fairmill dev`: PostgreSQL, schema and worker in one process, and nothing left when it ends.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { cli, jsonOf, scratchFolder, startCli } from "./cli.js";

const db = useDatabase();

const CONFIG = `import { createClient, defineConfig, defineJob, handle } from "fairmill";
// Made while the config is loaded: it must reach the database of dev without being told.
const client = createClient();
const echo = defineJob<{ text: string }>({ kind: "echo" });
const again = defineJob<{ text: string }>({ kind: "again" });
export default defineConfig({
  handlers: [
    handle(echo, async (ctx) => ctx.input),
    handle(again, async (ctx) => client.enqueue(echo, ctx.input)),
  ],
});`;

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("starts everything, other commands find it, and Ctrl-C leaves nothing running", async () => {
  const cwd = await scratchFolder({ "fairmill.config.ts": CONFIG });
  const dev = startCli(["dev"], { cwd });
  const address = await dev.line("Database");
  const dashboard = (await dev.line("Dashboard")).split(" ").at(-1)!;
  expect(await (await fetch(`${dashboard}/api/v1/now`)).json()).toMatchObject({ workers: 1 });
  const connection = JSON.parse(await readFile(join(cwd, ".fairmill/postgres/connection.json"), "utf8"));
  expect(address).toMatch(
    /^Database {2}postgres:\/\/fairmill@127\.0\.0\.1:\d+\/fairmill {2}\(PostgreSQL [\d.]+, data in \.fairmill\/postgres\)$/,
  );
  expect(await readFile(join(cwd, ".fairmill/.gitignore"), "utf8")).toBe("*\n");

  // No address is given: the commands find the server that runs here.
  const { id } = jsonOf(await cli(["enqueue", "again", '{"text":"hi"}', "--json"], { cwd }));
  const show = async () => jsonOf(await cli(["job", String(id), "--json"], { cwd }));
  await waitUntil("the job ends", async () => (await show())["state"] === "done");
  expect(await show()).toMatchObject({ result: { created: true } });

  dev.child.kill("SIGINT");
  const { code, stdout, stderr } = await dev.ended;
  expect(code).toBe(0);
  expect(stdout + stderr).not.toContain(new URL(connection.url).password);
  expect(isAlive(connection.serverPid)).toBe(false);
  await expect(fetch(dashboard)).rejects.toThrow("fetch failed");
  const { stderr: afterwards } = await cli(["jobs"], { cwd });
  expect(afterwards).toContain("fairmill.config.ts: Pass databaseUrl or db, or set DATABASE_URL");
});

test("a second signal ends the process at once, and PostgreSQL goes with it", async () => {
  const cwd = await scratchFolder();
  const dev = startCli(["dev", "--json"], { cwd });
  const ready = JSON.parse(await dev.line("databaseUrl"));
  expect(ready).toMatchObject({
    embedded: true,
    worker: null,
    databaseUrl: expect.stringMatching(/^postgres:\/\/fairmill@127/),
  });
  const { serverPid } = JSON.parse(await readFile(join(cwd, ".fairmill/postgres/connection.json"), "utf8"));
  expect(isAlive(serverPid)).toBe(true);
  dev.child.kill("SIGTERM");
  dev.child.kill("SIGTERM");
  // Either it was quick enough to end in order, or the second signal ended it.
  expect([0, 143]).toContain((await dev.ended).code);
  await waitUntil("PostgreSQL is gone", () => !isAlive(serverPid));
});

test("DATABASE_URL is used instead of a PostgreSQL of its own", async () => {
  const cwd = await scratchFolder({ "fairmill.config.ts": CONFIG });
  const dev = startCli(["dev"], { cwd, env: { DATABASE_URL: db.url } });
  expect(await dev.line("Database")).toContain(new URL(db.url).pathname);
  await dev.line("Worker started");
  await expect(readFile(join(cwd, ".fairmill/postgres/connection.json"))).rejects.toThrow("ENOENT");
  dev.child.kill("SIGTERM");
  expect((await dev.ended).code).toBe(0);
});

test("a change of the config, or of a file that it imports, in whatever language, is run at once; a broken one is told", async () => {
  const cwd = await scratchFolder({
    "package.json": '{ "type": "module" }',
    "fairmill.config.ts": `import { defineConfig, defineJob, handle } from "fairmill";
import { answer } from "./answers.js";
import { suffix } from "./suffix.mjs";
export default defineConfig({ handlers: [handle(defineJob({ kind: "ask" }), async () => answer + suffix)] });`,
    "answers.ts": 'export const answer: string = "one";',
    // What a compiler left there some time ago.
    "answers.js": 'export const answer = "stale";',
    "suffix.mjs": 'export const suffix = "!";',
  });
  const dev = startCli(["dev"], { cwd, env: { DATABASE_URL: db.url } });
  await dev.line("Worker started");
  await using client = createClient({ databaseUrl: db.url });
  const ask = async () => client.result((await client.enqueue(defineJob({ kind: "ask" }), {})).id);
  expect(await ask()).toBe("one!");

  const write = (name: string, text: string) => writeFile(join(cwd, name), text);
  await write("answers.ts", 'export const answer: string = "two";');
  await waitUntil("the new answer is given", async () => (await ask()) === "two!");
  await write("suffix.mjs", 'export const suffix = "?";');
  await waitUntil("the new suffix is given", async () => (await ask()) === "two?");

  await write("answers.ts", "export const answer: = ;");
  await dev.note("answers.ts changed and could not be loaded: the worker goes on as it was.");
  expect(await ask()).toBe("two?");
  await write("answers.ts", 'export const answer: string = "three";');
  await waitUntil("the mended answer is given", async () => (await ask()) === "three?");

  dev.child.kill("SIGTERM");
  const { code, stderr } = await dev.ended;
  expect(code).toBe(0);
  expect(stderr).toContain("answers.ts changed: a new worker takes over");
  expect(stderr).toMatch(/^error: fairmill\.config\.ts could not be loaded: .*answers\.ts/m);
  expect(await db.query("select from fairmill.worker where state = 'alive'")).toEqual([]);
});

test("a config that cannot be loaded ends dev, and its PostgreSQL", async () => {
  const cwd = await scratchFolder({ "fairmill.config.ts": "export default { handler: [] };" });
  const { code, stderr } = await cli(["dev"], { cwd });
  expect(code).toBe(1);
  expect(stderr).toContain('unknown setting "handler"');
  const { serverPid } = JSON.parse(await readFile(join(cwd, ".fairmill/postgres/connection.json"), "utf8"));
  expect(isAlive(serverPid)).toBe(false);
});
