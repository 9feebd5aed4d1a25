// Validation of a job's input by the user's schema. Synchronous where the schema is: most are.
import { FairmillError, InputInvalidError, type InputIssue } from "../../base/errors.js";
import type { SchemaIssue, SchemaResult } from "../../base/standard-schema.js";
import type { JobDefinition } from "./job-definition.js";
import { ResultInvalidError } from "./result-errors.js";

/** The validated value, or throws InputInvalidError. */
export function validateInput<In, Out>(definition: JobDefinition<In, Out>, input: unknown): Out | Promise<Out> {
  if (definition.schema === undefined) return input as Out;
  const result = definition.schema["~standard"].validate(input);
  // Any promise will do, not only the platform's own: schema libraries may bring theirs.
  return "then" in result
    ? Promise.resolve(result).then((r) => accept(definition.kind, r))
    : accept(definition.kind, result);
}

function accept<Out>(kind: string, result: SchemaResult<Out>): Out {
  if (result.issues === undefined) return result.value;
  throw new InputInvalidError(kind, result.issues.map(toIssue));
}

const toIssue = (issue: SchemaIssue): InputIssue => ({
  path: (issue.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join("."),
  message: issue.message,
});

/** What is kept of a handler's result: what the definition's `output` makes of it, or throws ResultInvalidError. */
export function validateResult(definition: JobDefinition, value: unknown): unknown {
  const result = definition.output!["~standard"].validate(value);
  return "then" in result
    ? Promise.resolve(result).then((r) => acceptResult(definition.kind, r))
    : acceptResult(definition.kind, result);
}

function acceptResult(kind: string, result: SchemaResult<unknown>): unknown {
  if (result.issues === undefined) return result.value;
  throw new ResultInvalidError(kind, result.issues.map(toIssue));
}

/** A stored payload that today's schema refuses: trying again cannot help, so the job ends with a code of its own. */
export class PayloadOutdatedError extends FairmillError {
  override readonly name = "PayloadOutdatedError";
  constructor(cause: InputInvalidError) {
    super(
      "FAIRMILL_PAYLOAD_OUTDATED",
      `The stored payload no longer fits the job's schema: ${cause.message} Let the schema accept old payloads, then retry the job.`,
      { cause },
    );
  }
}
