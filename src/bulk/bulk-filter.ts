// Which jobs a bulk action is about: checked, and in the words of the database.
import { ConfigError } from "../base/errors.js";
import { checkBatchId, checkJobId } from "../base/job-id.js";
import { nameOf, oneOf, readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { type Moment, momentOf } from "../base/time.js";
import { checkTag } from "../core/enqueue/make-job.js";
import { ENDED_STATES, JOB_STATES, type JobState, LIVE_STATES } from "../core/job/states.js";
import { checkErrorFilter, type ErrorFilter } from "../jobs/redrive-filter.js";

export const BULK_ACTIONS = ["cancel", "retry", "redrive", "rerun"] as const;
export type BulkActionName = (typeof BULK_ACTIONS)[number];

/** What is left out is not asked for. */
export interface BulkFilter extends ErrorFilter {
  /** Among those that the action can act on; default: all of these, of a redrive dead ones. */
  readonly state?: JobState | readonly JobState[];
  readonly kind?: string;
  readonly queue?: string;
  readonly tenant?: string;
  readonly key?: string;
  readonly batch?: string;
  /** One of the job's tags. */
  readonly tag?: string;
  readonly createdSince?: Moment;
  readonly createdUntil?: Moment;
  /** Contained in the job's payload. Sealed payloads contain nothing. */
  readonly payload?: Readonly<Record<string, unknown>>;
  /** Only these jobs, at most 10,000. */
  readonly ids?: readonly string[];
}

/** On jobs of which states an action acts; `bulk_states` says the same. */
export const ACTS_ON: Record<BulkActionName, readonly JobState[]> = {
  cancel: LIVE_STATES,
  retry: ["scheduled", "dead", "cancelled"],
  redrive: ["dead", "cancelled"],
  rerun: ENDED_STATES,
};

const IDS_MAX = 10_000;
const PAYLOAD_CHARACTERS_MAX = 10_000;
const KNOWN: Record<keyof BulkFilter, true> = {
  state: true,
  kind: true,
  queue: true,
  tenant: true,
  key: true,
  batch: true,
  tag: true,
  errorCode: true,
  errorText: true,
  createdSince: true,
  createdUntil: true,
  endedSince: true,
  endedUntil: true,
  payload: true,
  ids: true,
};

/** As pick_jobs reads it. An action on everything must be asked for by name: at least one member. */
export function checkBulkFilter(
  action: BulkActionName,
  filter: BulkFilter,
  where = `bulk ${action}`,
): Record<string, unknown> {
  oneOf(action, BULK_ACTIONS, "action", where);
  refuseUnknown(filter, Object.keys(KNOWN), where);
  const { state, kind, queue, tenant, key, batch, tag, createdSince, createdUntil, payload, ids } = filter;
  const stored = {
    states: state === undefined ? undefined : statesOf(action, state, where),
    kind: kind === undefined ? undefined : nameOf(kind, "kind"),
    queue: queue === undefined ? undefined : nameOf(queue, "queue"),
    tenant: tenant === undefined ? undefined : nameOf(tenant, "tenant"),
    key: key === undefined ? undefined : nameOf(key, "key"),
    batch: batch === undefined ? undefined : checkBatchId(batch),
    tag: tag === undefined ? undefined : checkTag(tag, "tag"),
    created_since: createdSince === undefined ? undefined : momentOf(createdSince, "createdSince"),
    created_until: createdUntil === undefined ? undefined : momentOf(createdUntil, "createdUntil"),
    payload: payload === undefined ? undefined : payloadOf(payload),
    ids: ids === undefined ? undefined : readable("ids", where, () => idsOf(ids)),
    ...checkErrorFilter(filter),
  };
  const said = Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== undefined));
  if (Object.keys(said).length === 0)
    throw new ConfigError(
      "filter",
      `${where}: the filter says nothing, which would mean every job. Name at least one thing, like { state: "${ACTS_ON[action][0]}" }.`,
    );
  return said;
}

function statesOf(action: BulkActionName, state: unknown, where: string): JobState[] {
  const states = (Array.isArray(state) ? state : [state]).map((one) => oneOf(one, JOB_STATES, "state", where));
  const strange = states.find((one) => !ACTS_ON[action].includes(one));
  if (states.length === 0 || strange !== undefined)
    throw new ConfigError(
      "state",
      `${where}: ${showValue(strange ?? state)} is no state that it acts on. Known: ${ACTS_ON[action].join(", ")}.`,
    );
  return states;
}

function payloadOf(payload: unknown): unknown {
  const text = readable("payload", "filter", () =>
    typeof payload === "object" && payload !== null && !Array.isArray(payload) ? JSON.stringify(payload) : undefined,
  );
  if (text === undefined || text.length > PAYLOAD_CHARACTERS_MAX || /\\u0000/.test(text) || !text.isWellFormed())
    throw new ConfigError("payload", 'payload: pass an object that the job\'s payload contains, like {"userId":"u1"}.');
  return payload;
}

function idsOf(ids: unknown): string[] {
  if (!Array.isArray(ids) || ids.length > IDS_MAX)
    throw new ConfigError("ids", `ids: pass a list of at most ${IDS_MAX} job ids.`);
  return ids.map((id: string) => checkJobId(id, "ids"));
}

const NAMES: Record<string, keyof BulkFilter> = {
  states: "state",
  error_code: "errorCode",
  error_text: "errorText",
  created_since: "createdSince",
  created_until: "createdUntil",
  ended_since: "endedSince",
  ended_until: "endedUntil",
};

/** What is stored, in the words of the caller. */
export const shownFilter = (stored: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(stored).map(([name, value]) => [NAMES[name] ?? name, value]));
