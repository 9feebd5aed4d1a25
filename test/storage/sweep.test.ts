// B10, retention of files: by age and prefix, page by page, interrupted and resumed, or only told.
import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineStorage, folderStorage, type Storage, sweepStorage } from "fairmill/storage";
import { afterEach, beforeEach, expect, test } from "vitest";

let folder: string;
let storage: Storage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-sweep-"));
  storage = defineStorage({ name: "files", driver: folderStorage({ path: folder }) });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const DAY_MS = 86_400_000;
async function put(key: string, ageDays: number): Promise<void> {
  await storage.put(key, "12345");
  const at = new Date(Date.now() - ageDays * DAY_MS);
  await utimes(join(folder, key), at, at);
}
const keys = async () => (await storage.list()).map(({ key }) => key);

test("B10: removes what is older than the rule of its longest prefix, and adds up what stays", async () => {
  await put("tmp/old", 2);
  await put("tmp/new", 0);
  await put("tmp/keep/old", 2);
  await put("other/ancient", 900);
  const sweep = await sweepStorage({
    storage,
    rules: [
      { prefix: "tmp/", olderThan: "1d" },
      { prefix: "tmp/keep/", olderThan: "30d" },
    ],
  });
  expect(sweep).toMatchObject({ looked: 4, removed: 1, removedBytes: 5, kept: 3, keptBytes: 15, isComplete: true });
  expect(await keys()).toEqual(["other/ancient", "tmp/keep/old", "tmp/new"]);
});

test("a dry run tells the same and removes nothing", async () => {
  await put("tmp/old", 2);
  expect(await sweepStorage({ storage, rules: [{ prefix: "tmp/", olderThan: "1d" }], dryRun: true })).toMatchObject({
    removed: 1,
    kept: 0,
  });
  expect(await keys()).toEqual(["tmp/old"]);
});

test("an interrupted sweep says where it was, and one that goes on from there looks at each file once", async () => {
  for (let n = 0; n < 30; n++) await put(`f/${String(n).padStart(2, "0")}`, n % 2 === 0 ? 5 : 0);
  const rules = [{ prefix: "", olderThan: "1d" as const }];
  const first = await sweepStorage({ storage, rules, filesMax: 11 });
  expect(first).toMatchObject({ looked: 11, removed: 6, isComplete: false, cursor: "f/10" });
  const stop = new AbortController();
  stop.abort();
  expect(await sweepStorage({ storage, rules, after: first.cursor!, signal: stop.signal })).toMatchObject({
    looked: 0,
    isComplete: false,
    cursor: "f/10",
  });
  const rest = await sweepStorage({ storage, rules, after: first.cursor! });
  expect(rest).toMatchObject({ looked: 19, removed: 9, isComplete: true });
  expect(await keys()).toHaveLength(15);
});

test("a sweep that goes on with what an earlier one answered has the sums of both", async () => {
  for (let n = 0; n < 10; n++) await put(`f/${n}`, n < 3 ? 5 : 0);
  const rules = [{ prefix: "", olderThan: "1d" as const }];
  const first = await sweepStorage({ storage, rules, filesMax: 4 });
  const second = await sweepStorage({ storage, rules, filesMax: 4, after: first });
  expect(second).toMatchObject({ looked: 8, removed: 3, kept: 5, cursor: "f/7", isComplete: false });
  expect(await sweepStorage({ storage, rules, after: second })).toEqual({
    ...{ looked: 10, removed: 3, removedBytes: 15, kept: 7, keptBytes: 35 },
    ...{ cursor: "f/9", isComplete: true },
  });
});

test("many files pass in pages, and progress is told after each", async () => {
  await Promise.all(Array.from({ length: 1_201 }, (_, n) => storage.put(`many/${n}`, "x")));
  const told: number[] = [];
  const sweep = await sweepStorage({ storage, rules: [], onProgress: ({ looked }) => told.push(looked) });
  expect(told).toEqual([500, 1_000, 1_201]);
  expect(sweep).toMatchObject({ kept: 1_201, removed: 0, isComplete: true });
});

test.each([
  [{ rules: [{ prefix: "../", olderThan: "1d" }] }, "FAIRMILL_STORAGE_KEY"],
  [{ rules: [{ prefix: "", olderThan: "soon" }] }, "FAIRMILL_CONFIG"],
  [{ rules: [], filesMax: 0 }, "FAIRMILL_CONFIG"],
  [{ rules: [], after: { cursor: "a", looked: -1 } }, "FAIRMILL_CONFIG"],
  [{ rules: [], dryrun: true }, "FAIRMILL_CONFIG"],
])("%j is refused, and nothing is removed", async (options, code) => {
  await put("old", 900);
  await expect(sweepStorage({ storage, ...options } as never)).rejects.toMatchObject({ code });
  expect(await keys()).toEqual(["old"]);
});
