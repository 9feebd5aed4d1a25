// The statements about effects: how they go with a settle, how they are refused, and the settle inside a caller's transaction.

import { type FairmillError, LeaseLostError } from "../../base/errors.js";
import type { Queryable } from "../../base/queryable.js";
import { rowsOf } from "../../db/callers-transaction.js";
import type { Database } from "../../db/database.js";
import { explainFailure, isOfContent } from "../../db/explain-failure.js";
import { type Refusal, toError } from "../../db/refusals.js";
import { qualify } from "../../db/schema-name.js";
import { driversError } from "../../db/wrapped-error.js";
import type { Claim } from "../job/claim.js";
import { EffectsFailedError } from "../job/effect-errors.js";
import type { Effects } from "../job/effects.js";
import { type Admitted, type Returned, toReturned } from "./returned.js";

// As text: what drivers and ORMs make of json differs.
const COMPLETE =
  "select accepted, refused::text as refused, admitted::text as admitted from fairmill.complete_v1($1, $2, $3, $4)";
const WAS_SETTLED = "select fairmill.was_settled_v1($1, $2, $3, 'done') as settled";

/** Effects as settle_v1 takes them. */
export const effectsText = ({ lists }: Effects): string =>
  `{${lists.map(({ kind, effects }) => `"${kind.member}":${kind.text(effects)}`).join(",")}}`;

/** By job, why its effects were not taken; undefined when the error is about something else. */
export function refusedEffects(error: unknown): ReadonlyMap<string, FairmillError> | undefined {
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  if (code !== "FM020" || typeof detail !== "string") return undefined;
  const refusals = Object.entries(JSON.parse(detail) as Record<string, Refusal>);
  return new Map(refusals.map(([id, refusal]) => [id, toError(refusal)]));
}

/** Settles a job as done inside the caller's transaction. Throws when that must be rolled back. */
export async function completeJob(
  tx: Queryable,
  schema: string,
  claim: Claim,
  detail: string | null,
): Promise<Returned[]> {
  let answer: unknown;
  try {
    answer = await tx.query(qualify(COMPLETE, schema), [claim.worker, claim.id, claim.leaseNo, detail]);
  } catch (failure) {
    throw toCompleteError(failure, schema);
  }
  const [row] = rowsOf(answer, "ctx.complete(tx)") as {
    accepted: boolean;
    refused: string | null;
    admitted: string | null;
  }[];
  if (row === undefined) throw new EffectsFailedError(new Error("the transaction answered without a row"));
  if (row.refused !== null) throw toError(JSON.parse(row.refused) as Refusal);
  if (!row.accepted)
    throw new LeaseLostError("The lease on this job was lost: another worker may be running it now. Roll back.");
  return toReturned(row.admitted === null ? [] : (JSON.parse(row.admitted) as Admitted[]));
}

function toCompleteError(failure: unknown, schema: string): unknown {
  const explained = explainFailure(failure, schema, driversError(failure));
  return explained === failure || isOfContent(explained) ? new EffectsFailedError(failure) : explained;
}

/** Whether the lease was settled as done: the caller's transaction has committed. */
export async function wasCompleted(db: Database, claim: Claim): Promise<boolean> {
  const [row] = await db.query<{ settled: boolean }>(WAS_SETTLED, [claim.worker, claim.id, claim.leaseNo]);
  return row!.settled;
}
