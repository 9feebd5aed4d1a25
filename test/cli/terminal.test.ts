// A terminal that is closed while a command runs in it: a real one, made by the program `script`, which is killed. Without that program the tests are skipped, and say so.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient, defineJob } from "fairmill";
import { afterEach, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";
import { project, repo, scratchFolder } from "./cli.js";

const db = useDatabase();
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
const main = join(repo, "dist/cli/main.js");

interface AtTerminal {
  printed(part: string): Promise<unknown>;
  /** As when its window is closed. */
  close(): void;
  /** 0 to 255; with 128 added, the signal that ended it. */
  code(): Promise<number>;
}

const terminals = new Set<ChildProcess>();
const end = async () => {
  for (const terminal of terminals) terminal.kill("SIGKILL");
  terminals.clear();
};
endAfterTest(end);
afterEach(end);

/** Runs a command as a shell does at a terminal: a shell that hears of the terminal's end tells its commands. */
async function atTerminal(args: readonly string[]): Promise<AtTerminal> {
  const file = join(await scratchFolder(), "code");
  const command = [process.execPath, main, ...args].map((word) => `'${word}'`).join(" ");
  const shell = `${command} & pid=$!; trap "kill -HUP $pid" HUP; wait $pid; wait $pid; echo $? > '${file}'`;
  const terminal = spawn("script", ["-qefc", shell, "/dev/null"], {
    cwd: project,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], SHELL: "/bin/sh", TERM: "dumb", DATABASE_URL: db.url },
    stdio: ["pipe", "pipe", "inherit"],
  });
  terminals.add(terminal);
  let text = "";
  terminal.stdout!.on("data", (chunk) => {
    text += chunk;
  });
  return {
    printed: (part) => waitUntil(`${JSON.stringify(part)} in ${JSON.stringify(text)}`, () => text.includes(part)),
    close: () => terminal.kill("SIGKILL"),
    code: async () =>
      Number(await waitUntil("the command has ended", () => readFile(file, "utf8").catch(() => undefined))),
  };
}

const alive = () => db.query("select id from fairmill.worker where state = 'alive'");

test.skipIf(!hasScript).each([
  ["work", "Worker started"],
  ["supervise", "Supervisor started"],
])("fairmill %s ends with 0 and gives back what it held when its terminal is closed", async (command, started) => {
  const terminal = await atTerminal([command]);
  await terminal.printed(started);
  expect(await alive()).toHaveLength(1);
  terminal.close();
  // Not 134: Node would abort, because there is no terminal whose settings it could put back.
  expect(await terminal.code()).toBe(0);
  expect(await alive()).toEqual([]);
});

test.skipIf(!hasScript)("what is running when the terminal is closed is finished first", async () => {
  const client = createClient({ databaseUrl: db.url });
  endAfterTest(() => client.close());
  const terminal = await atTerminal(["supervise"]);
  await terminal.printed("Supervisor started");
  const ids = await client.enqueueMany(
    defineJob<{ name: string }>({ kind: "greet", queue: "greetings" }),
    Array.from({ length: 20 }, (_, n) => ({ input: { name: `Ann ${n}` } })),
  );
  await waitUntil("the first of them runs", async () => (await client.job(ids[0]!.id))?.startedAt);
  terminal.close();
  expect(await terminal.code()).toBe(0);
  const jobs = await Promise.all(ids.map(({ id }) => client.job(id)));
  for (const job of jobs) expect(job).toMatchObject({ crashes: 0, error: null });
  expect(jobs.some((job) => job!.state === "running")).toBe(false);
});
