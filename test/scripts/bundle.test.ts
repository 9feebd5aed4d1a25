// `dist` is joined into few files: what comes in by different doors is the same, and nothing is left beside them that would be loaded a second time.
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { createClient, FairmillError } from "fairmill";
import * as errors from "fairmill/errors";
import { CrashLoopError } from "fairmill/pool";
import { expect, test } from "vitest";
import * as inside from "../../dist/client/client.js";
import { repo } from "../cli/cli.js";

test("there are the doors, what is started by its path, and parts that they share; no module by itself", () => {
  const dist = join(repo, "dist");
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .map((path) => path.split(sep).join("/"))
    .filter((path) => path.endsWith(".js") && !path.startsWith("dashboard/"));
  const { exports } = JSON.parse(readFileSync(join(repo, "package.json"), "utf8")) as {
    exports: Record<string, { default?: string }>;
  };
  const published = Object.values(exports).flatMap((one) => one.default?.replace("./dist/", "") ?? []);
  expect(files).toEqual(expect.arrayContaining([...published, "cli/main.js", "core/worker/beat-thread.js"]));
  for (const module of ["base/errors.js", "core/worker/heartbeat.js", "worker/worker.js"])
    expect(files).not.toContain(module);
});

test("what comes in by different doors is the same", () => {
  expect(errors.FairmillError).toBe(FairmillError);
  expect(CrashLoopError.prototype).toBeInstanceOf(FairmillError);
  expect(inside.createClient).toBe(createClient);
});
