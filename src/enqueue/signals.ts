// Signals to waiting jobs: their value is checked like a step's result, and sealed as one, because it is kept as one.
import { type Codec, sealJson } from "../model/codec.js";
import { changesIn } from "../model/content-changes.js";
import { checkJobId } from "../model/job-id.js";
import { serializeResult } from "../model/json-content.js";
import { nameOf } from "../model/settings.js";
import { StepResultError } from "../model/step-errors.js";
import type { Queryable } from "../store/database.js";
import { ownerOf } from "../store/steps.js";

/** A signal that may be sent. */
export interface Signal {
  readonly jobId: string;
  readonly name: string;
  /** undefined: without a value. */
  readonly json: string | undefined;
}

export function checkSignal(jobId: string, name: string, value: unknown): Signal {
  const checked = nameOf(name, "signal");
  const { json, problem } = serializeResult(value);
  if (problem !== undefined) throw new StepResultError(checked, problem);
  // Whoever sends it stands here, and can send something else: nothing is changed in silence.
  const [change] = changesIn(value);
  if (change !== undefined) throw new StepResultError(checked, `${change.path || "the value"}: in JSON ${change.what}`);
  return { jobId: checkJobId(jobId), name: checked, json };
}

/** The value as it is stored. `tx` says whose the job is: the seal is bound to its kind and tenant. */
export async function sealSignal(
  tx: Queryable,
  schema: string,
  codec: Codec | undefined,
  { jobId, json }: Signal,
): Promise<string | undefined> {
  if (codec === undefined || json === undefined) return json;
  const owner = await ownerOf(tx, schema, jobId);
  return owner && sealJson(codec, json, owner, "step");
}
