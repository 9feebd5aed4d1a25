// The input of a schedule as people may see it: opened where this server has the codec, redacted as the payload of a job of its kind is.
import { SEALED } from "../core/job/codec.js";
import type { Backend } from "./backend.js";
import { type JobDetail, openJob, type Schedule } from "./rooms.js";

/** Without a definition, what follows from the input by it cannot follow an edit. */
const DERIVED = ["unique_key", "account", "uses"] as const;

export function shownInput(http: Backend, { kind, tenant, startsFlows }: Schedule, job: object, payload: unknown) {
  if (startsFlows) return { input: null, redacted: false, sealed: false, editable: false };
  // The parts of a job that opening and redacting look at.
  const none = { result: null, progress: null, error: null, failures: [] };
  const opened = openJob(http.context.codec, { kind, tenant, payload, ...none } as unknown as JobDetail);
  const { payload: visible } = http.redactor.job(opened);
  const input = http.redact ? http.redact(visible) : visible;
  return {
    input,
    redacted: JSON.stringify(input) !== JSON.stringify(opened.payload),
    sealed: typeof input === "object" && input !== null && SEALED in input,
    editable: http.definitions.has(kind) || !DERIVED.some((member) => member in job),
  };
}
