// What batches and flows are listed by.
import { checkBatchId } from "../base/job-id.js";
import { checkName, limitOf } from "../base/page.js";
import { ifGiven, oneOf, refuseUnknown } from "../base/settings.js";
import { BATCH_STATES } from "./batch.js";
import type { BatchFilter } from "./batch-statements.js";

const KNOWN = ["role", "state", "tenant", "before", "limit"] as const;
const ROWS_MAX = 200;

export function checkBatchFilter(filter: BatchFilter): BatchFilter & { limit: number } {
  refuseUnknown(filter, KNOWN, "batches.list");
  const { role, state, tenant, before, limit } = filter;
  return {
    ...ifGiven("role", role, (one) => oneOf(one, ["batch", "flow"], "role", "batches.list")),
    ...ifGiven("state", state, (one) => oneOf(one, BATCH_STATES, "state", "batches.list")),
    ...ifGiven("tenant", tenant, checkName("tenant")),
    ...ifGiven("before", before, (id) => checkBatchId(id, "before")),
    limit: limitOf(limit, ROWS_MAX),
  };
}
