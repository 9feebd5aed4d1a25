// Signals to waiting jobs: their value is checked like a step's result, and sealed as one, because it is kept as one.

import { changesIn } from "../base/content-changes.js";
import { checkJobId } from "../base/job-id.js";
import { serializeResult } from "../base/json-content.js";
import { nameOf } from "../base/settings.js";
import { type Codec, sealJson } from "../core/job/codec.js";
import type { Session } from "../db/session.js";
import { StepResultError } from "./step-errors.js";
import { ownerOf } from "./step-statements.js";

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

/** The value as it is stored. `db` says whose the job is: the seal is bound to its kind and tenant. */
export async function sealSignal(
  db: Session,
  codec: Codec | undefined,
  { jobId, json }: Signal,
): Promise<string | undefined> {
  if (codec === undefined || json === undefined) return json;
  const owner = await ownerOf(db, jobId);
  return owner && sealJson(codec, json, owner, "step");
}
