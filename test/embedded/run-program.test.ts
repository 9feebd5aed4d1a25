// The programs that make a cluster end with the process that started them.
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";

const entry = new URL("../../dist/embedded/run-program.js", import.meta.url).href;
/** What has ended and is not collected yet is a zombie. */
const isAlive = (pid: number) => {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", `${pid}`], { encoding: "utf8" });
  return !/^\s*(Z.*)?$/.test(stdout.trim());
};

test("a process that ends while initdb is at work leaves nothing running", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fairmill-program-"));
  endAfterTest(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "pid");
  // Ends as `npm start` does at Ctrl-C: at once, without waiting for what it began.
  const script = `
    const { runProgram } = await import(${JSON.stringify(entry)});
    void runProgram("/bin/sh", ["-c", ${JSON.stringify(`echo $$ > ${file}; exec sleep 300`)}], { user: { switched: false } });
    process.on("SIGTERM", () => process.exit(143));`;
  const starter = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
  const pid = await waitUntil(
    "the program runs",
    async () => Number(await readFile(file, "utf8").catch(() => "")) || undefined,
  );
  expect(isAlive(pid)).toBe(true);
  starter.kill("SIGTERM");
  await waitUntil("the program is gone", () => !isAlive(pid) || undefined, 5_000);
});
