// Which ended jobs are meant: the filter of a redrive, checked and in the words of the database.
import { ConfigError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { nameOf, readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { type Moment, momentOf } from "../base/time.js";

/** What is left out is not asked for: an empty filter means every dead job. */
export interface RedriveFilter extends ErrorFilter {
  /** Default "dead". */
  readonly state?: "dead" | "cancelled";
  readonly kind?: string;
  readonly queue?: string;
  readonly tenant?: string;
  /** Only these jobs, at most 10,000. */
  readonly ids?: readonly string[];
}

/** Why and when jobs ended. */
export interface ErrorFilter {
  /** The `code` of the error that ended the job. */
  readonly errorCode?: string;
  /** Its message contains this text, letter by letter. */
  readonly errorText?: string;
  /** Ended at this time or later. */
  readonly endedSince?: Moment;
  /** Ended at this time or earlier. */
  readonly endedUntil?: Moment;
}

export const ERROR_FIELDS = ["errorCode", "errorText", "endedSince", "endedUntil"] as const;
const KNOWN = ["state", "kind", "queue", "tenant", ...ERROR_FIELDS, "ids"] as const;
const IDS_MAX = 10_000;

/** The filter as `redrive_v1` reads it. A member that is undefined is not there. */
export function checkRedriveFilter(filter: RedriveFilter, where: string): Record<string, unknown> {
  if (typeof filter !== "object" || filter === null)
    throw new ConfigError("filter", `${where}: pass a filter, like { kind: "mail.send" }, or {} for every dead job.`);
  refuseUnknown(filter, KNOWN, where);
  const { state, kind, queue, tenant, ids } = filter;
  if (state !== undefined && state !== "dead" && state !== "cancelled")
    throw new ConfigError("state", `state: ${showValue(state)} jobs are not redriven. Say "dead" or "cancelled".`);
  return {
    state,
    kind: kind === undefined ? undefined : nameOf(kind, "kind"),
    queue: queue === undefined ? undefined : nameOf(queue, "queue"),
    tenant: tenant === undefined ? undefined : nameOf(tenant, "tenant"),
    ids: ids === undefined ? undefined : readable("ids", where, () => idsOf(ids)),
    ...checkErrorFilter(filter),
  };
}

function idsOf(ids: unknown): string[] {
  if (!Array.isArray(ids) || ids.length > IDS_MAX)
    throw new ConfigError("ids", `ids: pass a list of at most ${IDS_MAX} job ids.`);
  return ids.map((id: string) => checkJobId(id, "ids"));
}

export interface CheckedErrorFilter {
  readonly error_code: string | undefined;
  readonly error_text: string | undefined;
  readonly ended_since: string | undefined;
  readonly ended_until: string | undefined;
}

export function checkErrorFilter(filter: ErrorFilter): CheckedErrorFilter {
  const { errorCode, errorText, endedSince, endedUntil } = filter;
  return {
    error_code: errorCode === undefined ? undefined : textOf(errorCode, "errorCode"),
    error_text: errorText === undefined ? undefined : textOf(errorText, "errorText"),
    ended_since: endedSince === undefined ? undefined : momentOf(endedSince, "endedSince"),
    ended_until: endedUntil === undefined ? undefined : momentOf(endedUntil, "endedUntil"),
  };
}

/** Empty texts are refused: one is contained in every message, and would mean everything. */
function textOf(value: unknown, setting: string): string {
  if (
    typeof value === "string" &&
    value.length >= 1 &&
    value.length <= 6_000 &&
    !value.includes("\0") &&
    value.isWellFormed()
  )
    return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not a text of 1 to 6000 characters.`);
}
