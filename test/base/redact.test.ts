// F9: what is named by key or path is put out of sight, whatever shape it comes in, and nothing else is.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../src/base/errors.js";
import { checkRedact, createRedactor, REDACTED, withoutSecrets } from "../../src/base/redact.js";

const redact = (patterns: string[], value: unknown) => createRedactor(patterns).value(value);

describe("patterns", () => {
  const value = { password: "p", user: { email: "e", name: "n", password: "q" }, list: [{ email: "x" }, { other: 1 }] };
  test.each([
    [
      "a key, at any depth",
      ["password"],
      { ...value, password: REDACTED, user: { ...value.user, password: REDACTED } },
    ],
    [
      "without regard to case",
      ["PassWord"],
      { ...value, password: REDACTED, user: { ...value.user, password: REDACTED } },
    ],
    ["a path", ["user.email"], { ...value, user: { ...value.user, email: REDACTED } }],
    ["a star is one member", ["*.password"], { ...value, user: { ...value.user, password: REDACTED } }],
    ["lists are passed through", ["list.email"], { ...value, list: [{ email: REDACTED }, { other: 1 }] }],
    ["a star may be a position", ["list.*"], { ...value, list: [REDACTED, REDACTED] }],
    [
      "two stars are any depth",
      ["**.email"],
      { ...value, user: { ...value.user, email: REDACTED }, list: [{ email: REDACTED }, { other: 1 }] },
    ],
    ["everything below", ["user.**"], { ...value, user: { email: REDACTED, name: REDACTED, password: REDACTED } }],
    ["a whole branch", ["user"], { ...value, user: REDACTED }],
    ["nothing that is not named", ["user.emails", "nope"], value],
  ])("%s", (_, patterns, expected) => {
    expect(redact(patterns, value)).toEqual(expected);
  });

  test("without patterns the value itself comes back", () => {
    expect(redact([], value)).toBe(value);
  });
});

describe("hostile shapes", () => {
  test("members called __proto__ and constructor are members like others, and change no prototype", () => {
    const value = JSON.parse('{"__proto__": {"password": "p", "polluted": 1}, "constructor": {"password": "q"}}');
    const shown = redact(["password"], value) as object;
    expect(JSON.stringify(shown)).toBe(
      `{"__proto__":{"password":"${REDACTED}","polluted":1},"constructor":{"password":"${REDACTED}"}}`,
    );
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(JSON.stringify(withoutSecrets(value, ["p"]))).toContain('"__proto__"');
  });

  test("deeper than anything that is kept: put out of sight as a whole", () => {
    let deep: unknown = { password: "p" };
    for (let n = 0; n < 500; n++) deep = { down: deep };
    expect(JSON.stringify(redact(["password"], deep))).not.toContain('"p"');
  });

  test.each([[null], [undefined], ["text"], [7], [true], [[]], [{}]])("%j stays what it is", (value) => {
    expect(redact(["password", "a.b", "**.c"], value)).toEqual(value);
  });

  test("whatever the value is: no named member is left, and all else is as it was", () => {
    const key = fc.constantFrom("secret", "SECRET", "a", "b", "__proto__", "");
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
      ),
    }));
    const keysIn = (value: unknown): [string, unknown][] =>
      typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, member]) => [[name, member] as [string, unknown], ...keysIn(member)])
        : [];
    fc.assert(
      fc.property(tree, (value) => {
        const shown = redact(["secret"], value);
        for (const [name, member] of keysIn(shown)) if (name.toLowerCase() === "secret") expect(member).toBe(REDACTED);
        expect(redact(["nothing.like.it"], value)).toEqual(value);
      }),
    );
  });
});

describe("secrets in texts", () => {
  test("what was put out of sight is looked for in errors and messages, the longest first", () => {
    const secrets = createRedactor(["email", "pin"]).secretsIn({
      email: "ann@example.com",
      pin: 12,
      other: "kept",
      user: { email: "ann@example.com.au" },
    });
    expect(secrets).toEqual(["ann@example.com", "ann@example.com.au"]);
    expect(
      withoutSecrets(
        { message: "No such user ann@example.com.au", cause: { message: "ann@example.com, kept 12" } },
        secrets,
      ),
    ).toEqual({
      message: `No such user ${REDACTED}`,
      cause: { message: `${REDACTED}, kept 12` },
    });
  });
});

test.each([["text"], [[""]], [["a..b"]], [[7]], [Array.from({ length: 201 }, () => "a")]])(
  "%j is refused by name",
  (patterns) => {
    expect(() => checkRedact(patterns, "here")).toThrow(ConfigError);
  },
);
