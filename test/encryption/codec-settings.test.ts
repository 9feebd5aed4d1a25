// What the settings of encryption accept, and codecs that an application brings itself.
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ConfigError, FairmillError } from "../../src/base/errors.js";
import { checkCodec, openJson, SEALED_CHARS_MAX, type SealContext, sealJson } from "../../src/core/job/codec.js";
import { type CodecOptions, createCodec } from "../../src/encryption/aes-codec.js";

const KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
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

describe("settings", () => {
  const secret = Buffer.alloc(31, "s3cr3t-");
  const refused = (options: unknown) => {
    const error = errorOf(() => createCodec(options as CodecOptions));
    expect(error).toBeInstanceOf(ConfigError);
    const shown = `${inspect(error, { depth: 9 })}${JSON.stringify(error)}`;
    for (const form of ["base64", "hex", "latin1"] as const)
      expect(shown).not.toContain(secret.toString(form).slice(0, 20));
    return error as ConfigError;
  };

  test.each<[string, unknown, string, RegExp]>([
    ["31 bytes", { keys: { a: KEY, "2026-11": secret }, current: "a" }, "keys.2026-11", /has 31 bytes/],
    ["33 bytes", { keys: { b: Buffer.alloc(33) }, current: "b" }, "keys.b", /has 33 bytes where AES-256 needs 32/],
    [
      "16 bytes in base64",
      { keys: { b: Buffer.alloc(16).toString("base64") }, current: "b" },
      "keys.b",
      /has 16 bytes/,
    ],
    ["base64 of 31 bytes", { keys: { b: secret.toString("base64") }, current: "b" }, "keys.b", /has 31 bytes/],
    ["text in hex", { keys: { b: secret.toString("hex") }, current: "b" }, "keys.b", /bytes|base64/],
    ["a line end behind the key", { keys: { b: `${KEY}\n` }, current: "b" }, "keys.b", /no spaces/],
    ["a key that is undefined", { keys: { b: undefined }, current: "b" }, "keys.b", /must be a Buffer or text/],
    ["no keys", { keys: {}, current: "b" }, "keys", /1 to 100/],
    ["a list of keys", { keys: [KEY], current: "0" }, "keys", /by name/],
    ["the key as its name", { keys: { [`${secret.toString("base64")}+/`]: KEY }, current: "b" }, "keys", /1 to 64/],
    ["current that is none of them", { keys: { a: KEY }, current: secret.toString("base64") }, "current", /: a\.$/],
    ["no current", { keys: { a: KEY } }, "current", /name of one of the keys/],
    ["uniqueWith that is none of them", { keys: { a: KEY }, current: "a", uniqueWith: "b" }, "uniqueWith", /: a\.$/],
    ["acceptPlain as a text", { keys: { a: KEY }, current: "a", acceptPlain: "no" }, "acceptPlain", /true or false/],
    [
      "an unknown name",
      { keys: { a: KEY }, current: "a", acceptPlan: true },
      "acceptPlan",
      /Did you mean "acceptPlain"/,
    ],
    ["nothing", undefined, "codec", /createCodec/],
  ])("refuses %s by name, without showing a key", (_, options, setting, message) => {
    const error = refused(options);
    expect(error.setting).toBe(setting);
    expect(error.message).toMatch(message);
  });

  test("a codec shows its names and none of its keys, however one looks at it", () => {
    const key = Buffer.from(KEY, "base64");
    const shown = [
      JSON.stringify(codec),
      JSON.stringify({ codec }),
      inspect(codec, { depth: 9, showHidden: true }),
      String(codec),
    ];
    for (const text of shown)
      for (const form of ["base64", "hex", "latin1"] as const) expect(text).not.toContain(key.toString(form));
    expect(shown.join("")).not.toMatch(/AAECAw|00 01 02 03|0, 1, 2, 3|0,1,2,3/);
    expect(JSON.parse(shown[0]!)).toEqual({ current: "2026-11", keys: ["2026-11"], acceptPlain: true });
  });

  test("the key is copied: a caller that clears its buffer later does not clear the codec's", () => {
    const key = Buffer.from(KEY, "base64");
    const own = createCodec({ keys: { "2026-11": key }, current: "2026-11" });
    key.fill(0);
    expect(own.decode(VECTOR, context)).toMatchObject({ to: "ann@example.com" });
  });

  test("where a codec is wanted, keys alone are refused and not shown", () => {
    for (const wrong of [{ keys: { a: KEY }, current: "a" }, KEY, null, { encode: () => "" }, () => {}]) {
      const error = errorOf(() => checkCodec(wrong));
      expect(error).toMatchObject({ code: "FAIRMILL_CONFIG", setting: "codec" });
      expect(error.message).not.toContain("AAEC");
    }
    expect(checkCodec(undefined)).toBeUndefined();
    expect(checkCodec(codec)).toBe(codec);
  });
});

describe("a codec of one's own", () => {
  const own = (encode: () => unknown) => ({ encode: encode as () => string, decode: (stored: unknown) => stored });

  test.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["an empty text", () => ""],
    ["an object", () => ({})],
    ["more than the schema keeps", () => `"${"a".repeat(SEALED_CHARS_MAX)}"`],
  ])("that makes %s is refused", (_, encode) => {
    expect(codeOf(() => sealJson(own(encode), "{}", context, "result"))).toBe("FAIRMILL_CODEC");
  });

  test("is told what the value is and whose", () => {
    const told: unknown[] = [];
    const spy = {
      encode: (json: string, of: SealContext) => {
        told.push(of);
        return json;
      },
      decode: (stored: unknown, of: SealContext) => {
        told.push(of);
        return stored;
      },
    };
    sealJson(spy, "1", context, "step");
    openJson(spy, 1, { kind: "k", tenant: "t" }, "step");
    expect(told).toEqual([
      { ...context, what: "step" },
      { kind: "k", tenant: "t", what: "step" },
    ]);
  });
});
