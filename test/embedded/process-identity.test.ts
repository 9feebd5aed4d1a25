import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { markProcess, processCommand, stillLives } from "../../src/embedded/process-identity.js";
import { run, until } from "./scratch.js";

describe("a marked process", () => {
  test("lives while exactly that process lives, not while another one has its id", async () => {
    const child = spawn("sleep", ["600"]);
    const mark = await markProcess(child.pid ?? 0);
    expect(await stillLives(mark)).toBe(true);
    expect(await stillLives({ ...mark, birth: `${mark.birth}0` })).toBe(false);
    await until("the program was loaded", async () => (await processCommand(mark.pid)) === "sleep 600");
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
    expect(await stillLives(mark)).toBe(false);
    expect(await processCommand(mark.pid)).toBeUndefined();
  });

  test("is dead although no parent has waited for it, as in a container without an init process", async () => {
    // The shell's child ends, and the program that takes the shell's place does not know of it.
    const parent = spawn("/bin/sh", ["-c", "sleep 0 & exec sleep 600"]);
    let dead = 0;
    await until("the dead process shows", async () => {
      const { stdout } = await run("ps", ["-e", "-o", "pid=,ppid=,state="]);
      const line = stdout.split("\n").find((row) => new RegExp(`^\\s*\\d+\\s+${parent.pid}\\s+Z`).test(row));
      dead = Number.parseInt(line ?? "0", 10);
      return dead > 0;
    });
    expect(await stillLives({ pid: dead, birth: "" })).toBe(false);
    parent.kill("SIGKILL");
  });
});
