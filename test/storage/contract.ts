// What every storage must do, whatever is behind it: run by the tests of each driver.
import { defineStorage, type StorageDriver } from "fairmill/storage";
import { describe, expect, test } from "vitest";

export function storageContract(what: string, makeDriver: () => StorageDriver | Promise<StorageDriver>): void {
  const open = async (settings: object = {}) =>
    defineStorage({ name: "files", driver: await makeDriver(), ...settings });

  describe(`${what}: files`, () => {
    test("are read as they were put, with type, caching and size", async () => {
      const storage = await open();
      const body = new Uint8Array([0, 1, 2, 255]);
      const stored = await storage.put("stickers/42/happy.webp", body);
      expect(stored).toMatchObject({ key: "stickers/42/happy.webp", bytes: 4, contentType: "image/webp" });
      const file = await storage.get("stickers/42/happy.webp");
      expect(file?.body).toEqual(body);
      expect(file).toMatchObject({ contentType: "image/webp", cacheControl: "public, max-age=86400", bytes: 4 });
      expect(file?.etag).toBe(stored.etag);
      expect(await storage.head("stickers/42/happy.webp")).toMatchObject({ bytes: 4, etag: stored.etag });
    });

    test("are replaced whole, and their ETag changes with the content", async () => {
      const storage = await open();
      const first = await storage.put("a.txt", "first, and longer");
      const second = await storage.put("a.txt", "second", { contentType: "text/x-note", cacheControl: "no-cache" });
      expect(second.etag).not.toBe(first.etag);
      const file = await storage.get("a.txt");
      expect(new TextDecoder().decode(file?.body)).toBe("second");
      expect(file).toMatchObject({ contentType: "text/x-note", cacheControl: "no-cache" });
    });

    test("that are not there are undefined; removing is safe to repeat", async () => {
      const storage = await open();
      expect(await storage.get("no/such")).toBeUndefined();
      expect(await storage.head("no/such")).toBeUndefined();
      await storage.put("gone.txt", "x");
      await storage.delete("gone.txt");
      await storage.delete("gone.txt");
      expect(await storage.get("gone.txt")).toBeUndefined();
    });

    test("may be empty, and may have any name that is a key", async () => {
      const storage = await open();
      for (const key of ["leer", "ä ö+ü/100%.txt", "a&b=c?d#e.txt", "日本/語.txt", "semi;colon'quote(1)*!.txt"]) {
        await storage.put(key, "");
        expect(await storage.get(key)).toMatchObject({ key, bytes: 0 });
      }
      expect((await storage.list()).map(({ key }) => key)).toHaveLength(5);
    });

    test("are listed in the order of their bytes, page by page, below a prefix", async () => {
      const storage = await open();
      const keys = ["a.txt", "a/1", "a/2/x", "a0", "b/1", "b/10", "b/2", "c", "é", "日"];
      for (const key of keys.toReversed()) await storage.put(key, key);
      const inOrder = keys.toSorted((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
      const seen: string[] = [];
      for (let page = await storage.list({ limit: 3 }); page.length > 0; ) {
        seen.push(...page.map(({ key }) => key));
        page = await storage.list({ limit: 3, after: seen.at(-1)! });
      }
      expect(seen).toEqual(inOrder);
      expect((await storage.list({ prefix: "b/1" })).map(({ key }) => key)).toEqual(["b/1", "b/10"]);
      expect((await storage.list({ prefix: "a/", after: "a/1" })).map(({ key }) => key)).toEqual(["a/2/x"]);
      expect(await storage.list({ prefix: "nothing" })).toEqual([]);
      expect((await storage.list({ prefix: "b/10" }))[0]).toMatchObject({ bytes: 4, modifiedAt: expect.any(Date) });
    });
  });

  test.each([
    "",
    "/a",
    "a/",
    "a//b",
    "../secret",
    "a/../b",
    ".hidden",
    "a/.about",
    "a\\b",
    "a\0b",
    "a\nb",
    "x".repeat(1_025),
    `${"y".repeat(256)}/z`,
    "\ud800",
    7,
    null,
  ])(`${what}: %j is no key, and nothing is asked of the storage`, async (key) => {
    const storage = await open();
    for (const call of [
      storage.put(key as string, "x"),
      storage.get(key as string),
      storage.delete(key as string),
      storage.signedUrl(key as string),
    ])
      await expect(call).rejects.toMatchObject({ code: "FAIRMILL_STORAGE_KEY" });
    expect(await storage.list()).toEqual([]);
  });

  test(`${what}: a file above the limit is refused and not stored`, async () => {
    const storage = await open({ fileBytesMax: 3 });
    await expect(storage.put("a", "1234")).rejects.toMatchObject({ code: "FAIRMILL_FILE_TOO_LARGE" });
    expect(await storage.get("a")).toBeUndefined();
  });

  test.each([
    ["contentType", "text/plain\r\nx-evil: 1"],
    ["cacheControl", ""],
    ["contenttype", "text/plain"],
  ])(`${what}: put refuses %s %j`, async (name, value) => {
    await expect((await open()).put("a", "x", { [name]: value })).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
  });

  test(`${what}: public addresses go through the CDN, escaped`, async () => {
    const storage = await open({ publicUrl: "https://cdn.example.com/media/" });
    expect(storage.publicUrl("a b/ü?.webp")).toBe("https://cdn.example.com/media/a%20b/%C3%BC%3F.webp");
  });
}
