// S14: the sealed form, what opens it and what does not. The vector was made by another implementation (Python's cryptography).
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairmillError } from "../../src/base/errors.js";
import { PAYLOAD_BYTES_MAX, serializeInput } from "../../src/base/json-content.js";
import {
  isSealed,
  keyIdOf,
  openJson,
  SEALED,
  SEALED_CHARS_MAX,
  type SealContext,
  sealJson,
} from "../../src/core/job/codec.js";
import { createCodec } from "../../src/encryption/aes-codec.js";
import { useDatabase } from "../support/database.js";
import { newSeed } from "../support/dice.js";

const db = useDatabase();
const KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER = Buffer.alloc(32, 7);
const context: SealContext = { kind: "mail.send", tenant: "acme", what: "payload" };
const codec = createCodec({ keys: { "2026-11": KEY }, current: "2026-11" });
const VECTOR = {
  "fairmill:sealed": 1,
  kid: "2026-11",
  iv: "ZGVmZ2hpamtsbW5v",
  tag: "0hMeQJiPwE+e8JRZROeK8Q==",
  data: "MzmqCVvTdP9QDB+NogQHjS6nKGnkAdFehaXJMI+Bn2rTm4N8j43+JoA=",
};

function errorOf(work: () => unknown): FairmillError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(FairmillError);
    return error as FairmillError;
  }
  throw new Error("Nothing was thrown.");
}
const codeOf = (work: () => unknown) => errorOf(work).code;
const sealed = (value: unknown, of = context, by = codec) => JSON.parse(by.encode(JSON.stringify(value), of));

describe("the form", () => {
  test("is the one that was released: a fixed vector opens", () => {
    expect(codec.decode(VECTOR, context)).toEqual({ to: "ann@example.com", text: "Grüße" });
    expect(codec.fingerprint!('{"to":"ann"}', context)).toBe(
      "5569897062d71d37a6383fcb78c491866f441c58bcb7374550cf39e86e2689ea",
    );
  });

  test("has the members of the vector in its order, of the same lengths", () => {
    const made = sealed({ to: "ann@example.com", text: "Grüße" });
    expect(Object.keys(made)).toEqual(Object.keys(VECTOR));
    expect(made).toMatchObject({ [SEALED]: 1, kid: "2026-11" });
    for (const member of ["iv", "tag", "data"] as const) expect(made[member]).toHaveLength(VECTOR[member].length);
    expect(isSealed(made)).toBe(true);
    expect(keyIdOf(made)).toBe("2026-11");
  });

  test("never repeats an iv, so the same value looks different each time", () => {
    const made = Array.from({ length: 1_000 }, () => sealed("the same"));
    expect(new Set(made.map(({ iv }) => iv)).size).toBe(1_000);
    expect(new Set(made.map(({ data }) => data)).size).toBe(1_000);
  });

  test("any JSON comes back as it was, through PostgreSQL, and nothing of it can be read there", async () => {
    const seed = newSeed();
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue(),
        fc.string({ minLength: 1 }),
        fc.string({ minLength: 1 }),
        async (value, kind, tenant) => {
          const json = JSON.stringify(value);
          const of = { kind, tenant, what: "result" } as const;
          const text = codec.encode(json, of);
          const [row] = await db.query<{ value: unknown }>("select $1::jsonb as value", [text]);
          expect(codec.decode(row!.value, of)).toEqual(JSON.parse(json));
          if (json.length > 12) expect(text).not.toContain(json.slice(1, -1));
        },
      ),
      { seed, numRuns: 200 },
    );
  });

  test("the largest input, sealed, still fits the wall in the schema", async () => {
    const json = serializeInput("k", "a".repeat(PAYLOAD_BYTES_MAX - 2));
    const text = sealJson(codec, json, context, "payload");
    expect(text.length).toBeLessThanOrEqual(SEALED_CHARS_MAX);
    await db.query("select fairmill.enqueue_v1('mail.send', $1)", [text]);
    const [row] = await db.query<{ payload: unknown }>("select payload from fairmill.job");
    expect(openJson(codec, row!.payload, context, "payload")).toBe(JSON.parse(json));
  });
});

describe("what does not open", () => {
  const broken = "FAIRMILL_SEAL_BROKEN";

  test.each(["iv", "tag", "data"] as const)("any flipped bit of its %s", (member) => {
    const bytes = Buffer.from(VECTOR[member], "base64");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(codeOf(() => codec.decode({ ...VECTOR, [member]: flipped.toString("base64") }, context))).toBe(broken);
    }
  });

  test("a letter of its text changed, also where base64 has bits that mean nothing", () => {
    for (const member of ["iv", "tag", "data"] as const)
      for (let i = 0; i < VECTOR[member].length; i++) {
        const text = VECTOR[member];
        const changed = text.slice(0, i) + (text[i] === "B" ? "C" : "B") + text.slice(i + 1);
        expect(
          codeOf(() => codec.decode({ ...VECTOR, [member]: changed }, context)),
          `${member} ${i}`,
        ).toBe(broken);
      }
    expect(codeOf(() => codec.decode({ ...VECTOR, data: VECTOR.data.replace("oA=", "oB=") }, context))).toBe(broken);
  });

  test.each<[string, object]>([
    ["a shorter tag", { tag: Buffer.from(VECTOR.tag, "base64").subarray(0, 12).toString("base64") }],
    ["a shorter iv", { iv: Buffer.from(VECTOR.iv, "base64").subarray(0, 8).toString("base64") }],
    ["half of the data", { data: Buffer.from(VECTOR.data, "base64").subarray(0, 20).toString("base64") }],
    ["no data", { data: "" }],
    ["data that is no text", { data: 5 }],
    ["data in base64url", { data: VECTOR.data.replaceAll("+", "-").replaceAll("/", "_") }],
    ["one more member", { more: 1 }],
    ["a key that is no name", { kid: "a\nb" }],
    ["a key that is no text", { kid: ["2026-11"] }],
    ["version 0", { [SEALED]: 0 }],
    ["a version that is text", { [SEALED]: "1" }],
    ["a version that is null", { [SEALED]: null }],
  ])("%s", (_, change) => {
    expect(codeOf(() => codec.decode({ ...VECTOR, ...change }, context))).toBe(broken);
  });

  test.each(["kid", "iv", "tag", "data"] as const)("without its %s", (member) => {
    const { [member]: _, ...rest } = VECTOR;
    expect(codeOf(() => codec.decode(rest, context))).toBe(broken);
  });

  test.each<[string, Partial<SealContext>]>([
    ["tenant", { tenant: "other" }],
    ["kind", { kind: "mail.drop" }],
    ["place: payload and result", { what: "result" }],
    ["place: payload and progress", { what: "progress" }],
    ["place: payload and step", { what: "step" }],
    ["tenant and kind, swapped", { kind: "acme", tenant: "mail.send" }],
    ["names that would run together", { kind: 'mail.send"', tenant: 'acme","' }],
  ])("moved to another %s", (_, change) => {
    const made = sealed({ n: 1 });
    expect(codec.decode(made, context)).toEqual({ n: 1 });
    expect(codeOf(() => codec.decode(made, { ...context, ...change }))).toBe(broken);
  });

  test("with another key under the same name", () => {
    const wrong = createCodec({ keys: { "2026-11": OTHER }, current: "2026-11" });
    expect(codeOf(() => wrong.decode(VECTOR, context))).toBe(broken);
  });

  test("under the name of another key, although the key is the same", () => {
    const both = createCodec({ keys: { "2026-11": KEY, copy: KEY }, current: "copy" });
    expect(codeOf(() => both.decode({ ...VECTOR, kid: "copy" }, context))).toBe(broken);
  });

  test("with a key that is not there: that has a code of its own, and the name of the key", () => {
    const error = errorOf(() => codec.decode({ ...VECTOR, kid: "2027-01" }, context));
    expect(error).toMatchObject({ code: "FAIRMILL_KEY_UNKNOWN", keyId: "2027-01" });
    expect(error.message).toContain('"2027-01"');
  });

  test("a form of a later version: it is not broken, only not for us", () => {
    expect(codeOf(() => codec.decode({ ...VECTOR, [SEALED]: 2, alg: "new" }, context))).toBe("FAIRMILL_SEALED");
  });

  test("text that is not JSON, sealed elsewhere: its error does not quote it", () => {
    const error = errorOf(() => codec.decode(JSON.parse(codec.encode("my secret text", context)), context));
    expect(error.code).toBe(broken);
    expect(inspect(error, { depth: 9 })).not.toContain("secret");
  });

  test("without a codec: the error names the key", () => {
    const error = errorOf(() => openJson(undefined, VECTOR, context, "payload"));
    expect(error).toMatchObject({ code: "FAIRMILL_SEALED", keyId: "2026-11" });
    expect(openJson(undefined, { plain: 1 }, context, "payload")).toEqual({ plain: 1 });
  });
});

describe("plain values", () => {
  test("are taken as they are, unless the codec was told not to", () => {
    for (const value of [{ a: 1 }, [1], "text", 5, null, true]) {
      expect(codec.decode(value, context)).toEqual(value);
      const strict = createCodec({ keys: { a: KEY }, current: "a", acceptPlain: false });
      expect(codeOf(() => strict.decode(value, context))).toBe("FAIRMILL_NOT_SEALED");
    }
  });

  test("that look sealed are sealed like any other, and come back", () => {
    expect(codec.decode(sealed(VECTOR), context)).toEqual(VECTOR);
  });
});

describe("rotation", () => {
  const before = createCodec({ keys: { old: KEY }, current: "old" });
  const during = createCodec({ keys: { old: KEY, new: OTHER }, current: "old" });
  const after = createCodec({ keys: { old: KEY, new: OTHER }, current: "new" });
  const last = createCodec({ keys: { new: OTHER }, current: "new" });

  test("the current key seals, all keys open", () => {
    expect(sealed(1, context, during).kid).toBe("old");
    expect(sealed(1, context, after).kid).toBe("new");
    for (const by of [before, during, after])
      for (const opens of [during, after])
        expect(opens.decode(sealed({ n: 1 }, context, by), context)).toEqual({ n: 1 });
    expect(codeOf(() => before.decode(sealed(1, context, after), context))).toBe("FAIRMILL_KEY_UNKNOWN");
    expect(codeOf(() => last.decode(sealed(1, context, before), context))).toBe("FAIRMILL_KEY_UNKNOWN");
  });

  test("fingerprints change with the current key, and do not where uniqueWith names the old one", () => {
    const kept = createCodec({ keys: { old: KEY, new: OTHER }, current: "new", uniqueWith: "old" });
    const text = '{"pin":"1234"}';
    expect(during.fingerprint!(text, context)).toBe(before.fingerprint!(text, context));
    expect(after.fingerprint!(text, context)).not.toBe(before.fingerprint!(text, context));
    expect(kept.fingerprint!(text, context)).toBe(before.fingerprint!(text, context));
    expect(before.fingerprint!(text, { ...context, tenant: "other" })).not.toBe(before.fingerprint!(text, context));
    expect(before.fingerprint!(text, { ...context, kind: "other" })).not.toBe(before.fingerprint!(text, context));
  });
});
