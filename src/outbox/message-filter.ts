// What messages are listed by.
import { checkJobId } from "../base/job-id.js";
import { checkName, limitOf } from "../base/page.js";
import { ifGiven, oneOf, refuseUnknown } from "../base/settings.js";
import { channelName } from "./delivery.js";
import { MESSAGE_STATUSES, MESSAGES_MAX, type MessageFilter } from "./outbox-statements.js";

const KNOWN = ["status", "channel", "tenant", "before", "limit"] as const;

export function checkMessageFilter(filter: MessageFilter): MessageFilter & { limit: number } {
  refuseUnknown(filter, KNOWN, "outbox.list");
  const { status, channel, tenant, before, limit } = filter;
  return {
    ...ifGiven("status", status, (one) => oneOf(one, MESSAGE_STATUSES, "status", "outbox.list")),
    ...ifGiven("channel", channel, channelName),
    ...ifGiven("tenant", tenant, checkName("tenant")),
    ...ifGiven("before", before, (id) => checkJobId(id, "before")),
    limit: limitOf(limit, MESSAGES_MAX),
  };
}
