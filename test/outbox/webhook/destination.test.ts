import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addressesOf, type DestinationRules, destinationOf } from "../../../src/outbox/webhook/destination.js";
import { WebhookDestinationError, WebhookUnreachableError } from "../../../src/outbox/webhook/webhook-errors.js";
import { leadsTo } from "./receiver.js";

const strict = { allowPrivate: false, allowHttp: true, ports: undefined };
function refused(url: string, rules: DestinationRules = strict): void {
  expect(() => destinationOf(url, rules)).toThrow(WebhookDestinationError);
}

describe("S11: addresses as they are written", () => {
  test("name, port and path are taken apart; messages show nothing behind the host", () => {
    expect(destinationOf("https://Hooks.Example.com/a/b?c=d#e", strict)).toEqual({
      isSecure: true,
      hostname: "hooks.example.com",
      port: 443,
      path: "/a/b?c=d",
      origin: "https://hooks.example.com",
    });
    expect(destinationOf("http://[2606:4700::1]:8080", strict)).toMatchObject({ hostname: "2606:4700::1", port: 8080 });
  });

  test.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://%31%32%37.0.0.1/",
    "http://0/",
    "http://169.254.169.254/latest/meta-data",
    "http://0xa9fea9fe/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[fd00:ec2::254]/",
  ])("%s is refused, however it is spelt", (url) => refused(url));

  test("every number of a private address in every spelling is refused", () => {
    const spell = [
      (n: number) => String(n),
      (n: number) => `0x${n.toString(16)}`,
      (n: number) => `0${n.toString(8)}`,
      (n: number) => `${n >>> 24}.${n & 0xffffff}`,
      (n: number) => `${n >>> 24}.${(n >>> 16) & 255}.${n & 0xffff}`,
      (n: number) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255].map((b) => `0x${b.toString(16)}`).join("."),
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(0x7f000000, 0x0a000000, 0xe0000000, 0),
        fc.integer({ min: 0, max: 0xffffff }),
        fc.constantFrom(...spell),
        fc.constantFrom("", "."),
        (net, host, write, dot) => refused(`http://${write((net | host) >>> 0)}${dot}/`),
      ),
    );
  });

  test.each([
    ["ftp://example.com/"],
    ["file:///etc/passwd"],
    ["gopher://example.com:70/"],
    ["javascript:alert(1)"],
    ["unix:/var/run/docker.sock"],
    ["//example.com/"],
    ["example.com"],
    [""],
    ["https://"],
    ["https://user@example.com/"],
    ["https://user:pass@example.com/"],
    ["https://:pass@example.com/"],
    [`https://example.com/${"a".repeat(9_000)}`],
  ])("%s is none for webhooks", (url) => refused(url));

  test.each([22, 25, 53, 445, 1023])("port %i is refused unless it is named", (port) => {
    refused(`https://example.com:${port}/`);
    expect(destinationOf(`https://example.com:${port}/`, { ...strict, ports: [port] })).toMatchObject({ port });
    refused("https://example.com:8443/", { ...strict, ports: [port] });
  });

  test("http is refused unless it is allowed", () => {
    expect(() => destinationOf("http://example.com/", { ...strict, allowHttp: false })).toThrow(/use https/);
  });

  test("no message shows path, query or credentials", () => {
    for (const url of [
      "http://u:s3cret@10.0.0.1/s3cret?s3cret",
      "ftp://h/s3cret",
      "s3cret",
      "https://10.0.0.1/s3cret?s3cret",
    ])
      try {
        destinationOf(url, strict);
        expect.unreachable();
      } catch (error) {
        expect(String(error)).not.toContain("s3cret");
      }
  });
});

describe("S11: addresses behind names", () => {
  const to = destinationOf("https://hooks.example.com/", strict);

  test("one private address among public ones spoils them all", async () => {
    for (const list of [
      ["10.0.0.1"],
      ["8.8.8.8", "10.0.0.1"],
      ["2606:4700::1", "::1"],
      ["8.8.8.8", "::ffff:8.8.8.8"],
      ["no"],
    ])
      await expect(addressesOf(to, strict, leadsTo(...list))).rejects.toThrow(WebhookDestinationError);
  });

  test("public ones pass, all of them, after one question", async () => {
    const resolve = leadsTo("8.8.8.8", "2606:4700::1");
    expect(await addressesOf(to, strict, resolve)).toEqual([
      { address: "8.8.8.8", family: 4 },
      { address: "2606:4700::1", family: 6 },
    ]);
    expect(resolve.asked).toEqual(["hooks.example.com"]);
  });

  test("a name without an address is unreachable, not forbidden", async () => {
    await expect(addressesOf(to, strict, leadsTo())).rejects.toThrow(WebhookUnreachableError);
    const fails = () => Promise.reject(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }));
    await expect(addressesOf(to, strict, fails)).rejects.toMatchObject({ delivered: false, retryable: true });
  });

  test("a name with hundreds of addresses is not believed", async () => {
    const many = Array.from({ length: 65 }, (_, i) => `8.8.8.${i}`);
    await expect(addressesOf(to, strict, leadsTo(...many))).rejects.toThrow(/65 addresses/);
  });
});
