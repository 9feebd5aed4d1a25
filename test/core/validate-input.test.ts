// F1: the input is validated by whatever schema library the job names, at once where the library is, later where it is not.
import { defineJob } from "fairmill";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { InputInvalidError } from "../../src/base/errors.js";
import type { StandardSchema } from "../../src/base/standard-schema.js";
import { PayloadOutdatedError, validateInput } from "../../src/core/job/validate-input.js";

const USER = { user: { name: "ann", tags: ["a"] } };
const withZod = defineJob({
  kind: "zod",
  input: z.object({ user: z.object({ name: z.string(), tags: z.array(z.string()) }) }),
});
const withValibot = defineJob({
  kind: "valibot",
  input: v.object({ user: v.object({ name: v.string(), tags: v.array(v.string()) }) }),
});

test.each([withZod, withValibot])("$kind: a valid input comes back at once, without a promise", (job) => {
  expect(validateInput(job, USER)).toEqual(USER);
});

test.each([withZod, withValibot])("$kind: a bad input is refused with the path of every fault", (job) => {
  try {
    void validateInput(job, { user: { name: 5, tags: ["a", 7] } });
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(InputInvalidError);
    expect((error as InputInvalidError).code).toBe("FAIRMILL_INPUT_INVALID");
    expect((error as InputInvalidError).issues.map(({ path }) => path)).toEqual(["user.name", "user.tags.1"]);
    expect((error as Error).message).toContain(`The input of job kind "${job.kind}" is not valid: user.name: `);
  }
});

test("a schema that transforms gives what it makes of the input", () => {
  const job = defineJob({ kind: "a", input: z.object({ at: z.string().transform((text) => new Date(text)) }) });
  expect(validateInput(job, { at: "1970-01-01T00:00:00Z" })).toEqual({ at: new Date(0) });
});

test("without a schema anything passes as it is", () => {
  const input = { any: "thing" };
  expect(validateInput(defineJob({ kind: "a" }), input)).toBe(input);
  expect(validateInput(defineJob({ kind: "a" }), undefined)).toBeUndefined();
});

test("an asynchronous schema gives a promise of the value, or of the refusal", async () => {
  const known = async (name: string) => name === "ann";
  const job = defineJob({ kind: "a", input: z.object({ name: z.string().refine(known, "unknown user") }) });
  await expect(validateInput(job, { name: "ann" })).resolves.toEqual({ name: "ann" });
  await expect(validateInput(job, { name: "bob" })).rejects.toMatchObject({
    issues: [{ path: "name", message: "unknown user" }],
  });
  const slow = defineJob({ kind: "b", input: v.objectAsync({ name: v.pipeAsync(v.string(), v.checkAsync(known)) }) });
  await expect(validateInput(slow, { name: "bob" })).rejects.toBeInstanceOf(InputInvalidError);
});

/** A schema of another, unknown library. */
const schema = (validate: StandardSchema["~standard"]["validate"]): StandardSchema => ({
  "~standard": { version: 1, vendor: "test", validate },
});

test("paths may be made of keys, numbers, symbols and objects with a key", () => {
  const path = ["list", 0, { key: "name" }, Symbol("s")];
  const job = defineJob({
    kind: "a",
    input: schema(() => ({ issues: [{ message: "bad", path }, { message: "worse" }] })),
  });
  expect(() => validateInput(job, {})).toThrow(
    expect.objectContaining({
      issues: [
        { path: "list.0.name.Symbol(s)", message: "bad" },
        { path: "", message: "worse" },
      ],
      message: 'The input of job kind "a" is not valid: list.0.name.Symbol(s): bad; worse.',
    }),
  );
});

test("a promise of another make is awaited, too", async () => {
  // biome-ignore lint/suspicious/noThenProperty: such a promise is what is tested.
  const thenable = { then: (resolve: (result: object) => void) => resolve({ issues: [{ message: "no" }] }) };
  const job = defineJob({ kind: "a", input: schema(() => thenable as never) });
  await expect((async () => validateInput(job, {}))()).rejects.toBeInstanceOf(InputInvalidError);
});

test("a validator that breaks throws its own error, not one about the input", () => {
  const job = defineJob({
    kind: "a",
    input: schema(() => {
      throw new TypeError("broken validator");
    }),
  });
  expect(() => validateInput(job, {})).toThrow(TypeError);
});

test("a stored payload that no longer fits says what to do, and keeps the faults as its cause", () => {
  const cause = new InputInvalidError("a", [{ path: "name", message: "is missing" }]);
  const error = new PayloadOutdatedError(cause);
  expect(error).toMatchObject({ code: "FAIRMILL_PAYLOAD_OUTDATED", cause });
  expect(error.message).toMatch(/no longer fits.*name: is missing.*then retry the job/);
});
