// Seals results on their way to the database. A codec that fails must not cost the job its verdict, nor may it leave the result bare:
// then the job is done without it, and a line says why.

import { recordError } from "../base/error-record.js";
import type { Logger } from "../base/log.js";
import { type Codec, sealJson } from "../core/job/codec.js";
import type { SealResult } from "../core/settle/verdict-details.js";

export function resultSealer(codec: Codec, log: Logger): SealResult {
  return (claim, json) => {
    try {
      return sealJson(codec, json, claim, "result");
    } catch (error) {
      const { worker, id: job, kind, tenant, attempt } = claim;
      const problem = recordError(error).message;
      log.warn({ worker, job, kind, tenant, attempt, problem }, "The job's result was not kept");
      return undefined;
    }
  };
}
