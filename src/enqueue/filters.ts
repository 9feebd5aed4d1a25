// The filters and pages of what a client lists, checked like settings: a member that is undefined was not asked for, and anything else must be
// what its name says. Without that, a tenant that is null by mistake would list everybody's.
import { BATCH_STATES, checkBatchId } from "../model/batch.js";
import { channelName } from "../model/delivery.js";
import { checkJobId } from "../model/job-id.js";
import { type CheckedErrorFilter, checkErrorFilter, ERROR_FIELDS } from "../model/redrive-filter.js";
import { ifGiven, nameOf, oneOf, refuseUnknown, wholeNumber } from "../model/settings.js";
import { JOB_STATES } from "../model/states.js";
import type { BatchFilter } from "../store/batches.js";
import { ENTRIES_MAX, type StatementPage } from "../store/credits.js";
import { MESSAGE_STATUSES, MESSAGES_MAX, type MessageFilter } from "../store/outbox.js";
import { NAMES_MAX, type NamePage } from "../store/overviews.js";
import { type JobFilter, PAGE_ROWS_MAX } from "../store/read-jobs.js";

const OF_JOBS = ["state", "queue", "kind", "tenant", "batch", "before", "limit", ...ERROR_FIELDS] as const;
const OF_BATCHES = ["role", "state", "tenant", "before", "limit"] as const;
const OF_MESSAGES = ["status", "channel", "tenant", "before", "limit"] as const;
const ROWS = 50;

const limitOf = (limit: unknown, max: number) => (limit === undefined ? ROWS : wholeNumber(limit, 1, max, "limit"));
const checkName = (setting: string) => (name: string) => nameOf(name, setting);

export function checkJobFilter(filter: JobFilter): { filter: JobFilter & { limit: number }; why: CheckedErrorFilter } {
  refuseUnknown(filter, OF_JOBS, "jobs");
  const { state, queue, kind, tenant, batch, before, limit } = filter;
  return {
    filter: {
      ...ifGiven("state", state, (one) => oneOf(one, JOB_STATES, "state", "jobs")),
      ...ifGiven("queue", queue, checkName("queue")),
      ...ifGiven("kind", kind, checkName("kind")),
      ...ifGiven("tenant", tenant, checkName("tenant")),
      ...ifGiven("batch", batch, (id) => checkBatchId(id)),
      ...ifGiven("before", before, (id) => checkJobId(id, "before")),
      limit: limitOf(limit, PAGE_ROWS_MAX),
    },
    why: checkErrorFilter(filter),
  };
}

export function checkBatchFilter(filter: BatchFilter): BatchFilter & { limit: number } {
  refuseUnknown(filter, OF_BATCHES, "batches.list");
  const { role, state, tenant, before, limit } = filter;
  return {
    ...ifGiven("role", role, (one) => oneOf(one, ["batch", "flow"], "role", "batches.list")),
    ...ifGiven("state", state, (one) => oneOf(one, BATCH_STATES, "state", "batches.list")),
    ...ifGiven("tenant", tenant, checkName("tenant")),
    ...ifGiven("before", before, (id) => checkBatchId(id, "before")),
    limit: limitOf(limit, PAGE_ROWS_MAX),
  };
}

export function checkMessageFilter(filter: MessageFilter): MessageFilter & { limit: number } {
  refuseUnknown(filter, OF_MESSAGES, "outbox");
  const { status, channel, tenant, before, limit } = filter;
  return {
    ...ifGiven("status", status, (one) => oneOf(one, MESSAGE_STATUSES, "status", "outbox")),
    ...ifGiven("channel", channel, channelName),
    ...ifGiven("tenant", tenant, checkName("tenant")),
    ...ifGiven("before", before, (id) => checkJobId(id, "before")),
    limit: limitOf(limit, MESSAGES_MAX),
  };
}

/** A page of a list by name. Without `after`, from the beginning. */
export function checkNamePage(page: NamePage, where: string): Required<NamePage> {
  refuseUnknown(page, ["after", "limit"], where);
  const { after, limit } = page;
  return { after: after === undefined ? "" : nameOf(after, "after"), limit: limitOf(limit, NAMES_MAX) };
}

export function checkStatementPage(page: StatementPage): StatementPage & { limit: number } {
  refuseUnknown(page, ["before", "limit"], "statement");
  const { before, limit } = page;
  return { ...ifGiven("before", before, (id) => checkJobId(id, "before")), limit: limitOf(limit, ENTRIES_MAX) };
}
