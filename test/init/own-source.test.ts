// A new project installs the package that made it, wherever that came from.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ownSource } from "../../src/init/own-source.js";
import { scratchFolder } from "../cli/cli.js";

/** A folder whose manifest asks for fairmill as `said`, and where fairmill then stands. */
async function installed(said: string | undefined, place = "node_modules/fairmill"): Promise<string> {
  const owner = await scratchFolder();
  if (said !== undefined)
    await writeFile(join(owner, "package.json"), JSON.stringify({ dependencies: { fairmill: said } }));
  await mkdir(join(owner, place), { recursive: true });
  return join(owner, place);
}

test.each([
  ["^0.1.0", "^0.2.0"],
  ["latest", "^0.2.0"],
  [undefined, "^0.2.0"],
  ["git+ssh://git@example.com/fairmill.git#v1", "git+ssh://git@example.com/fairmill.git#v1"],
  ["someone/fairmill", "someone/fairmill"],
  ["https://example.com/fairmill-0.2.0.tgz", "https://example.com/fairmill-0.2.0.tgz"],
  ["file:../fairmill-0.2.0.tgz", "file:../../fairmill-0.2.0.tgz"],
  ["file:packs/fairmill-0.2.0.tgz", "file:../packs/fairmill-0.2.0.tgz"],
  ["link:../clone", "file:../../clone"],
  ["../clone", "file:../../clone"],
])("installed as %s, a project below asks for %s", async (said, asked) => {
  const folder = await installed(said);
  expect(await ownSource(folder, join(folder, "../../greetings"), "0.2.0")).toBe(asked);
});

test("a store beneath node_modules does not hide who installed it", async () => {
  const folder = await installed("file:../fairmill.tgz", "node_modules/.pnpm/fairmill@file+x/node_modules/fairmill");
  expect(await ownSource(folder, join(folder, "../../../../../greetings"), "0.2.0")).toBe("file:../../fairmill.tgz");
});

test("from a clone, the clone is asked for", async () => {
  const parent = await scratchFolder();
  expect(await ownSource(join(parent, "clone"), join(parent, "greetings"), "0.2.0")).toBe("file:../clone");
});
