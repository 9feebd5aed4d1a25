// From the list that a caller gives to the jobs that are stored. Most lists are of jobs that differ in their input and tenant at most: those
// are checked like any other, and written as one text. A value and a text for each would cost as much as all the rest of the way.

import { ConfigError } from "../../base/errors.js";
import { serializePlainList } from "../../base/json-content.js";
import { nameOf, readable } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";
import type { Codec } from "../job/codec.js";
import { isStored } from "../job/content-reference.js";
import type { AlikeJobs, JobList, NewJob } from "../job/enqueue-options.js";
import { type JobDefinition, refuseReserved } from "../job/job-definition.js";
import type { ContentStore } from "../job/stored-content.js";
import { validateInput } from "../job/validate-input.js";
import type { EnqueueChain } from "./enqueue-middleware.js";
import { STATEMENT_CHARS_MAX, STATEMENT_ROWS_MAX } from "./enqueue-statements.js";
import { checkDefinition, type EnqueueItem, newJobOf } from "./make-job.js";

export async function newJobs<In>(
  definition: JobDefinition<In, unknown>,
  items: Iterable<EnqueueItem<In>>,
  codec: Codec | undefined,
  chain?: EnqueueChain,
  contents?: ContentStore,
): Promise<JobList> {
  if (!readable("jobs", "enqueueMany", () => typeof items?.[Symbol.iterator] === "function"))
    throw new ConfigError("jobs", `${showValue(items)} is no list of jobs: pass [{ input, … }, …].`);
  const list = [...items];
  checkDefinition(definition);
  const isSeen = codec !== undefined || chain !== undefined;
  const alike = isSeen || hasOwnFields(definition) ? undefined : await alikeJobs(definition, list, contents);
  if (alike !== undefined) return alike;
  const jobs: NewJob[] = [];
  for (const item of list) {
    const job = newJobOf(definition, item, codec, chain, contents);
    jobs.push(job instanceof Promise ? await job : job);
  }
  return contents === undefined ? jobs : contents.keepPayloads(jobs);
}

/** Whether each job of this kind has more to it than payload and tenant, made from its input. */
const hasOwnFields = <In>(definition: JobDefinition<In, unknown>) =>
  definition.key !== undefined ||
  definition.unique !== undefined ||
  definition.credits !== undefined ||
  definition.uses !== undefined;

/** Undefined when a job has more to it than input and tenant, or has an input that takes a closer look: then each is made by itself. */
async function alikeJobs<In>(
  definition: JobDefinition<In, unknown>,
  items: readonly EnqueueItem<In>[],
  contents: ContentStore | undefined,
): Promise<AlikeJobs | undefined> {
  if (items.length === 0 || items.length > STATEMENT_ROWS_MAX || !items.every(hasInputAndTenant)) return undefined;
  const inputs = items.map((item) => item.input);
  if (definition.schema !== undefined)
    for (const input of inputs) {
      const valid = validateInput(definition, input);
      if (valid instanceof Promise) await valid;
    }
  refuseReserved(definition.kind, "enqueue");
  const payloads = serializePlainList(inputs, STATEMENT_CHARS_MAX, contents?.above);
  if (payloads === undefined) return undefined;
  const { kind, queue, priority, maxAttempts: attemptsMax, expireMs } = definition;
  return { kind, queue, priority, attemptsMax, expireMs, count: items.length, tenants: tenantsOf(items), payloads };
}

/** Has nothing else. Asked of every job, so without a list of its keys. */
function hasInputAndTenant(item: EnqueueItem<unknown>): boolean {
  try {
    if (typeof item !== "object" || item === null || Object.getPrototypeOf(item) !== Object.prototype) return false;
    for (const key in item) if (key !== "input" && key !== "tenant") return false;
    // Read here, where a getter that throws only means that this is none of them.
    return !isStored(item.input) && (item.tenant === undefined || item.input !== item);
  } catch {
    return false;
  }
}

function tenantsOf(items: readonly EnqueueItem<unknown>[]): string | readonly string[] {
  const tenantOf = ({ tenant }: EnqueueItem<unknown>) => (tenant === undefined ? "default" : nameOf(tenant, "tenant"));
  const first = tenantOf(items[0]!);
  return items.every(({ tenant = "default" }) => tenant === first) ? first : items.map(tenantOf);
}
