// B12, files over HTTP: public ones with their cache headers, others by signed addresses only.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileHandler, defineStorage, folderStorage, type Storage } from "fairmill/storage";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const secret = "a secret of more than thirty-two bytes";
let nowMs = Date.parse("2026-01-01T00:00:00Z");
const clock = { now: () => nowMs, monotonic: () => 0, after: () => () => {}, random: () => 0 };
let folder: string;
let storage: Storage;
let handler: (request: Request) => Promise<Response>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-files-"));
  storage = defineStorage({
    name: "files",
    driver: folderStorage({ path: folder, url: "http://files.test/f", secret, clock }),
  });
  handler = createFileHandler({ storage, path: "/f", isPublic: (key) => key.startsWith("public/"), secret, clock });
  await storage.put("public/a.webp", "picture", { cacheControl: "public, max-age=60" });
  await storage.put("private/b.txt", "secret text");
});
afterAll(() => rm(folder, { recursive: true, force: true }));
const get = (url: string, init?: RequestInit) => handler(new Request(url, init));

describe("a public file", () => {
  test("is served with its type, its caching and an ETag that saves the second transfer", async () => {
    const answer = await get(storage.publicUrl("public/a.webp"));
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe("picture");
    expect(answer.headers.get("cache-control")).toBe("public, max-age=60");
    expect(answer.headers.get("content-type")).toBe("image/webp");
    const again = await get(storage.publicUrl("public/a.webp"), {
      headers: { "if-none-match": `"x", ${answer.headers.get("etag")}` },
    });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const head = await get(storage.publicUrl("public/a.webp"), { method: "HEAD" });
    expect([head.headers.get("content-length"), await head.text()]).toEqual(["7", ""]);
  });

  test("runs nothing in a browser, whatever it contains", async () => {
    await storage.put("public/evil.html", "<script>alert(1)</script>");
    const answer = await get(storage.publicUrl("public/evil.html"));
    expect(answer.headers.get("content-security-policy")).toContain("sandbox");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });
});

describe("any other file", () => {
  test("needs a signed address, and a shared cache may not keep it", async () => {
    expect((await get("http://files.test/f/private/b.txt")).status).toBe(403);
    const answer = await get(await storage.signedUrl("private/b.txt", { expires: "1m" }));
    expect(await answer.text()).toBe("secret text");
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
  });

  test("is refused when the address expired, was changed, or was signed for something else", async () => {
    const url = await storage.signedUrl("private/b.txt", { expires: "1m" });
    const changed = [
      url.replace("b.txt", "c.txt"),
      url.replace(/expires=\d+/, "expires=9999999999999"),
      url.replace(/signature=.{4}/, "signature=AAAA"),
      `${url}&method=PUT`,
    ];
    for (const one of changed) expect((await get(one)).status).toBe(403);
    expect((await get(url, { method: "PUT", body: "x" })).status).toBe(403);
    nowMs += 60_001;
    expect((await get(url)).status).toBe(403);
  });

  test("can be written by an address that was signed for it, and only then", async () => {
    const url = await storage.signedUrl("uploads/new.png", { method: "PUT" });
    expect((await get(url, { method: "PUT", body: "bytes", headers: { "content-type": "image/png" } })).status).toBe(
      204,
    );
    expect(await storage.head("uploads/new.png")).toMatchObject({ bytes: 5, contentType: "image/png" });
    expect((await get(url)).status).toBe(403);
  });
});

test.each([
  "/f/..%2f..%2fetc%2fpasswd",
  "/f/%2e%2e/secret",
  "/f/.about/public/a.webp",
  "/f/",
  "/other/public/a.webp",
  "/f/%ff",
  "/f/public/none.webp",
])("%s is not found", async (path) => {
  expect((await get(`http://files.test${path}`)).status).toBe(404);
});

test("other methods are refused", async () => {
  expect((await get("http://files.test/f/public/a.webp", { method: "DELETE" })).status).toBe(405);
});
