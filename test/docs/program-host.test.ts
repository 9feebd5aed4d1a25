// The process that runs the programs of the documents sees what a process of its own would show.
import { beforeAll, expect, test } from "vitest";
import { scratchFolder } from "../cli/cli.js";
import { runProgram } from "./program-host.js";

let folder: string;
beforeAll(async () => {
  folder = await scratchFolder({
    "shared.mjs": "console.log('loaded'); export const count = { n: 0 };",
    "counts.mjs": "import { count } from './shared.mjs'; console.log(++count.n, process.env.WORD, process.cwd());",
    "later.mjs": "setTimeout(() => console.log('later'), 5);",
    "throws.mjs": "throw new Error('thrown');",
    "rejects.mjs": "Promise.reject(new Error('rejected'));",
    "exits.mjs": "process.exitCode = 4; console.log('before'); process.exit(3); console.log('after');",
    "code.mjs": "process.exitCode = 4;",
  });
});

const run = (name: string, env: Record<string, string> = {}) => runProgram(`${folder}/${name}`, folder, env);

test("each loads its modules anew, with its own variables and folder", async () => {
  const said = (word: string) => ({ code: 0, stdout: `loaded\n1 ${word} ${folder}\n`, stderr: "" });
  expect(await run("counts.mjs", { WORD: "one" })).toEqual(said("one"));
  expect(await run("counts.mjs", { WORD: "two" })).toEqual(said("two"));
});

test("one is over when nothing of it is under way", async () => {
  expect(await run("later.mjs")).toEqual({ code: 0, stdout: "later\n", stderr: "" });
});

test("one that fails, in whatever way, ends with its code and its error, and the next one runs", async () => {
  expect(await run("throws.mjs")).toMatchObject({ code: 1, stderr: expect.stringContaining("thrown") });
  expect(await run("rejects.mjs")).toMatchObject({ code: 1, stderr: expect.stringContaining("rejected") });
  expect(await run("exits.mjs")).toMatchObject({ code: 3, stdout: "before\n" });
  expect(await run("code.mjs")).toEqual({ code: 4, stdout: "", stderr: "" });
  expect(await run("later.mjs")).toEqual({ code: 0, stdout: "later\n", stderr: "" });
});
