// What jobs are listed by.
import { checkBatchId, checkJobId } from "../base/job-id.js";
import { checkName, limitOf } from "../base/page.js";
import { ifGiven, oneOf, refuseUnknown } from "../base/settings.js";
import { checkTag } from "../core/enqueue/make-job.js";
import { JOB_STATES } from "../core/job/states.js";
import { type JobFilter, PAGE_ROWS_MAX } from "./read-jobs.js";
import { type CheckedErrorFilter, checkErrorFilter, ERROR_FIELDS } from "./redrive-filter.js";

const KNOWN = ["state", "queue", "kind", "tenant", "batch", "tag", "before", "limit", ...ERROR_FIELDS] as const;

export function checkJobFilter(filter: JobFilter): { filter: JobFilter & { limit: number }; why: CheckedErrorFilter } {
  refuseUnknown(filter, KNOWN, "jobs.list");
  const { state, queue, kind, tenant, batch, tag, before, limit } = filter;
  return {
    filter: {
      ...ifGiven("state", state, (one) => oneOf(one, JOB_STATES, "state", "jobs.list")),
      ...ifGiven("queue", queue, checkName("queue")),
      ...ifGiven("kind", kind, checkName("kind")),
      ...ifGiven("tenant", tenant, checkName("tenant")),
      ...ifGiven("batch", batch, (id) => checkBatchId(id)),
      ...ifGiven("tag", tag, (one) => checkTag(one, "tag")),
      ...ifGiven("before", before, (id) => checkJobId(id, "before")),
      limit: limitOf(limit, PAGE_ROWS_MAX),
    },
    why: checkErrorFilter(filter),
  };
}
