// Files in a bucket: what every storage does, over signed requests to a server that checks them; and the examples that Amazon publishes.
import { defineStorage, s3Storage } from "fairmill/storage";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { signHeaders, signUrl } from "../../src/storage/sign-s3.js";
import { storageContract } from "./contract.js";
import { S3Server } from "./s3-server.js";

const server = new S3Server();
let endpoint: string;
beforeAll(async () => {
  endpoint = await server.start();
});
afterAll(() => server.stop());
beforeEach(() => server.objects.clear());
const driver = (settings: object = {}) =>
  s3Storage({ bucket: "bucket", accessKeyId: "AKIA", secretAccessKey: server.secret, endpoint, ...settings });

storageContract("S3", () => driver());

describe("signatures", () => {
  // From "Signature Calculations for the Authorization Header" and "Authenticating Requests: Using Query Parameters" of Amazon's reference.
  const credentials = {
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    region: "us-east-1",
  };
  const at = new Date("2013-05-24T00:00:00Z");

  test("of a request are those of Amazon's own example", () => {
    const url = new URL("https://examplebucket.s3.amazonaws.com/test.txt");
    const headers = signHeaders(credentials, { method: "GET", url, headers: { range: "bytes=0-9" }, body: "" }, at);
    expect(headers["authorization"]).toContain(
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
  });

  test("of a list with a query are those of Amazon's own example", () => {
    const url = new URL("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J");
    const headers = signHeaders(credentials, { method: "GET", url, headers: {}, body: "" }, at);
    expect(headers["authorization"]).toContain(
      "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    );
  });

  test("of an address are those of Amazon's own example", () => {
    const url = signUrl(credentials, "GET", new URL("https://examplebucket.s3.amazonaws.com/test.txt"), 86_400, at);
    expect(url).toContain("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
  });

  test("of addresses let a caller without credentials read or write one file, and no other, until they expire", async () => {
    const storage = defineStorage({ name: "files", driver: driver() });
    await storage.put("a b/ü.txt", "hello");
    const url = await storage.signedUrl("a b/ü.txt", { expires: "5m" });
    expect(await (await fetch(url)).text()).toBe("hello");
    expect((await fetch(url.replace("a%20b", "other"))).status).toBe(403);
    expect((await fetch(url, { method: "PUT", body: "evil" })).status).toBe(403);
    const writing = await storage.signedUrl("new.txt", { method: "PUT" });
    expect((await fetch(writing, { method: "PUT", body: "by a browser" })).status).toBe(200);
    expect(new TextDecoder().decode((await storage.get("new.txt"))?.body)).toBe("by a browser");
    const past = { ...{ now: () => Date.now() - 600_000 }, monotonic: () => 0, after: () => () => {}, random: () => 0 };
    const expired = await defineStorage({ name: "files", driver: driver({ clock: past }) }).signedUrl("new.txt", {
      expires: "5m",
    });
    expect((await fetch(expired)).status).toBe(403);
  });

  test("with a wrong secret are refused, and the error tells what the service said, not the secret", async () => {
    const storage = defineStorage({ name: "files", driver: driver({ secretAccessKey: "not-the-secret" }) });
    const error = await storage.put("a", "x").catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "FAIRMILL_STORAGE", status: 403 });
    expect((error as Error).message).toContain("does not match");
    expect((error as Error).message).not.toContain("not-the-secret");
  });
});

test("an outage is an error with its status; a service out of reach is said so", async () => {
  const storage = defineStorage({ name: "files", driver: driver() });
  server.faults.push({ status: 503, body: "<Error><Message>Slow &amp; steady</Message></Error>" });
  await expect(storage.get("a")).rejects.toMatchObject({
    code: "FAIRMILL_STORAGE",
    status: 503,
    message: expect.stringContaining("Slow & steady"),
  });
  const nowhere = defineStorage({ name: "files", driver: driver({ endpoint: "http://127.0.0.1:9" }) });
  await expect(nowhere.get("a")).rejects.toMatchObject({
    code: "FAIRMILL_STORAGE",
    message: expect.stringContaining("could not be reached"),
  });
});

test.each([
  [{ bucket: "" }, "bucket"],
  [{ secretAccessKey: undefined }, "secretAccessKey"],
  [{ endpoint: "s3.example.com" }, "endpoint"],
  [{ regoin: "eu" }, "regoin"],
])("settings %j are refused by name: %s", (settings, setting) => {
  expect(() => driver(settings)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG", setting }));
});
