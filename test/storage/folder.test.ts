// Files in a folder: what every storage does, and that no reader sees half a file.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineStorage, folderStorage } from "fairmill/storage";
import { afterEach, expect, test } from "vitest";
import { storageContract } from "./contract.js";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});
const newFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), "fairmill-storage-"));
  folders.push(folder);
  return folder;
};

storageContract("folder", async () =>
  folderStorage({ path: await newFolder(), url: "http://127.0.0.1/files", secret: "s".repeat(32) }),
);

test("a reader sees the old file or the new one, never a part, while writers replace it", async () => {
  const storage = defineStorage({ name: "files", driver: folderStorage({ path: await newFolder() }) });
  const bodies = ["a", "b", "c"].map((letter) => letter.repeat(300_000));
  await storage.put("file", bodies[0]!);
  let isWriting = true;
  const writing = (async () => {
    for (let round = 0; round < 30; round++) await Promise.all(bodies.map((body) => storage.put("file", body)));
    isWriting = false;
  })();
  let reads = 0;
  while (isWriting) {
    const text = new TextDecoder().decode((await storage.get("file"))?.body);
    expect(bodies.includes(text)).toBe(true);
    reads++;
  }
  await writing;
  expect(reads).toBeGreaterThan(0);
});

test("puts and deletes beside each other in one folder neither fail nor leave anything behind", async () => {
  const folder = await newFolder();
  const storage = defineStorage({ name: "files", driver: folderStorage({ path: folder }) });
  await Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      await storage.put(`deep/er/${n}.txt`, String(n));
      await storage.delete(`deep/er/${n}.txt`);
    }),
  );
  expect(await storage.list()).toEqual([]);
  expect(await readdir(join(folder, ".unfinished"))).toEqual([]);
});

test("a file that was copied there by hand is read, as bytes of an unknown kind that is not cached", async () => {
  const folder = await newFolder();
  await writeFile(join(folder, "copied.webp"), "x");
  const storage = defineStorage({ name: "files", driver: folderStorage({ path: folder }) });
  expect(await storage.get("copied.webp")).toMatchObject({
    contentType: "application/octet-stream",
    cacheControl: "no-cache",
  });
});

test("a folder that cannot be written is said in words", async () => {
  const folder = await newFolder();
  await writeFile(join(folder, "file"), "");
  const storage = defineStorage({ name: "files", driver: folderStorage({ path: join(folder, "file") }) });
  await expect(storage.put("a", "x")).rejects.toMatchObject({
    code: "FAIRMILL_STORAGE",
    message: expect.stringContaining('writing "a"'),
  });
});

test.each([
  [{ path: "" }, "path"],
  [{ path: "x", secret: "short" }, "secret"],
  [{ path: "x", pth: "y" }, "pth"],
  [{ path: "x", url: "ftp://x" }, "url"],
])("settings %j are refused by name: %s", (settings, setting) => {
  expect(() => folderStorage(settings as never)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG", setting }));
});
