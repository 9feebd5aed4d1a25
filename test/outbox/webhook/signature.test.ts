import { createHmac } from "node:crypto";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/base/clock.js";
import { ConfigError } from "../../../src/base/errors.js";
import { signingKeys, signWebhook, type VerifyOptions, verifyWebhook } from "../../../src/outbox/webhook/signature.js";
import { WebhookSignatureError } from "../../../src/outbox/webhook/webhook-errors.js";
import { SECRET } from "./receiver.js";

const NOW_MS = 1_800_000_000_500;
const clock = { ...systemClock, now: () => NOW_MS };
const OTHER = Buffer.from("another secret of 24 bytes or more");
const sign = (body: string, { key = "order-17", secret = [SECRET] as (string | Buffer)[], nowMs = NOW_MS } = {}) => ({
  ...signWebhook(signingKeys(secret, "secret"), { idempotencyKey: key, body: Buffer.from(body), nowMs }),
});
const verify = (headers: VerifyOptions["headers"], body: string | Buffer, more: Partial<VerifyOptions> = {}) =>
  verifyWebhook({ headers, body, secrets: SECRET, clock, ...more });
const reason = (call: () => unknown) => {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(WebhookSignatureError);
    return (error as WebhookSignatureError).reason;
  }
  throw new Error("It was accepted.");
};

describe("S11: signatures", () => {
  test("are those of the Standard Webhooks convention", () => {
    const secret = Buffer.from(SECRET.slice(6), "base64");
    const right = createHmac("sha256", secret).update('order-17.1800000000.{"a":1}').digest("base64");
    expect(sign('{"a":1}')).toEqual({
      "webhook-id": "order-17",
      "webhook-timestamp": "1800000000",
      "webhook-signature": `v1,${right}`,
    });
  });

  test("what was signed is accepted, whatever key and body are", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), fc.string({ unit: "binary" }), (key, text) => {
        const body = Buffer.from(text, "utf8").toString();
        expect(verify(sign(body, { key }), body)).toEqual({
          idempotencyKey: key,
          sentAt: new Date(1_800_000_000_000),
        });
      }),
    );
  });

  test("a change of any part is refused", () => {
    const headers = sign("body");
    expect(reason(() => verify(headers, "bodY"))).toBe("signature");
    expect(reason(() => verify(headers, ""))).toBe("signature");
    expect(reason(() => verify({ ...headers, "webhook-id": "order-18" }, "body"))).toBe("signature");
    expect(reason(() => verify({ ...headers, "webhook-timestamp": "1800000001" }, "body"))).toBe("signature");
    expect(reason(() => verify({ ...headers, "webhook-signature": "v1,AAAA" }, "body"))).toBe("signature");
    expect(reason(() => verify({ ...headers, "webhook-signature": "" }, "body"))).toBe("signature");
    expect(reason(() => verify(headers, "body", { secrets: OTHER }))).toBe("signature");
  });

  test("nothing of one part can be taken for another", () => {
    const headers = sign("body", { key: "order.1800000000" });
    expect(headers["webhook-id"]).toBe("order%2E1800000000");
    const key = Buffer.from(SECRET.slice(6), "base64");
    const forged = createHmac("sha256", key).update("a.1800000000.1800000000.body").digest("base64");
    const shifted = {
      "webhook-id": "a.1800000000",
      "webhook-timestamp": "1800000000",
      "webhook-signature": `v1,${forged}`,
    };
    expect(reason(() => verify(shifted, "body"))).toBe("malformed");
  });

  test("while secrets change, all sign and one is enough, on either side", () => {
    const both = sign("body", { secret: [SECRET, OTHER] });
    expect(both["webhook-signature"].split(" ")).toHaveLength(2);
    for (const secrets of [SECRET, OTHER, [OTHER, SECRET]]) verify(both, "body", { secrets });
    verify(sign("body", { secret: [OTHER] }), "body", { secrets: [SECRET, OTHER] });
    const foreign = { ...both, "webhook-signature": `v2,AAAA v1a,BBBB ${both["webhook-signature"]}` };
    verify(foreign, "body");
  });

  test("too old and too new are refused, to the second", () => {
    const at = (offsetMs: number) => sign("body", { nowMs: NOW_MS + offsetMs });
    for (const offsetMs of [-300_000, -299_000, 0, 299_000]) verify(at(offsetMs), "body");
    expect(reason(() => verify(at(-301_500), "body"))).toBe("time");
    expect(reason(() => verify(at(301_500), "body"))).toBe("time");
    verify(at(-3_000_000), "body", { tolerance: "1h" });
  });

  test("headers of Node and of fetch are read, in any case of letters; twice is once too often", () => {
    const headers = sign("body");
    verify(new Headers(headers), "body");
    verify(Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])), "body");
    verify({ ...headers, "webhook-id": ["order-17"] }, Buffer.from("body"));
    expect(reason(() => verify({ ...headers, "webhook-id": ["order-17", "order-17"] }, "body"))).toBe("malformed");
    expect(reason(() => verify({ ...headers, "Webhook-Id": "order-17" }, "body"))).toBe("malformed");
    expect(reason(() => verify({ ...headers, "webhook-id": undefined }, "body"))).toBe("missing");
    expect(reason(() => verify(new Headers(), "body"))).toBe("missing");
    expect(reason(() => verify({ ...headers, "webhook-timestamp": "1e9" }, "body"))).toBe("malformed");
    expect(reason(() => verify({ ...headers, "webhook-id": "a".repeat(9_000) }, "body"))).toBe("malformed");
  });

  test("what was parsed is no body", () => {
    expect(() => verify(sign("{}"), {} as never)).toThrow(/not what was parsed/);
  });
});

describe("secrets", () => {
  test.each([
    ["short", `whsec_${Buffer.alloc(23).toString("base64")}`],
    ["no base64", "whsec_hunter2hunter2hunter2hunter2!"],
    ["no prefix", "hunter2hunter2hunter2hunter2hunter2"],
    ["too few bytes", Buffer.from("hunter2")],
    ["too many", Buffer.alloc(513)],
    ["none", []],
    ["a number", 5],
    ["eleven", Array.from({ length: 11 }, () => SECRET)],
  ])("%s: refused, and never shown", (_, secret) => {
    try {
      signingKeys(secret as string, "secret");
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect(inspect(error)).not.toContain("hunter2");
    }
  });

  test("24 bytes are enough, and what is kept of a secret shows nothing of it", () => {
    const keys = signingKeys([Buffer.from("hunter2hunter2hunter2abc")], "secret");
    expect(inspect(keys, { depth: 9, showHidden: true }) + JSON.stringify(keys)).not.toContain("hunter2");
  });
});
