// Errors on their way over the border: as plain data, and made again on the other side, so that `instanceof` and codes mean there what they
// mean here.

import { recordError } from "../../base/error-record.js";
import { DatabaseError, FairmillError, JobCancelledError, LeaseLostError, ShutdownError } from "../../base/errors.js";
import { NodeResultError } from "../../batches/flow.js";
import type { AbortReason, SentError } from "./messages.js";

export const sendError = (error: unknown): SentError => recordError(error);

/** Classes that handlers may ask for, of what ports of a run reject with. */
const CLASSES: readonly { readonly name: string; readonly prototype: object }[] = [
  NodeResultError,
  DatabaseError,
  LeaseLostError,
];

export function receiveError({ name, message, code, stack }: SentError): Error {
  const error = code?.startsWith("FAIRMILL_") ? new FairmillError(code, message) : new Error(message);
  if (code !== undefined && !(error instanceof FairmillError)) Object.assign(error, { code });
  Object.defineProperty(error, "name", { value: name, configurable: true });
  if (stack !== undefined) error.stack = stack;
  const known = CLASSES.find((one) => one.name === name);
  if (known !== undefined) Object.setPrototypeOf(error, known.prototype);
  return error;
}

export const sendReason = (reason: Error): AbortReason => ({
  code: (reason as { code?: string }).code ?? "",
  message: reason.message,
});

export function receiveReason({ code, message }: AbortReason): Error {
  if (code === "FAIRMILL_CANCELLED") return new JobCancelledError();
  if (code === "FAIRMILL_SHUTDOWN") return new ShutdownError();
  return new LeaseLostError(message);
}
