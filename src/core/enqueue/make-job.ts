// From what the caller says to the job that is stored: validated input, checked options, defaults from the definition.

import { toMs } from "../../base/duration.js";
import { ConfigError, InputInvalidError } from "../../base/errors.js";
import { checkBatchId } from "../../base/job-id.js";
import { serializeInput } from "../../base/json-content.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";
import { momentOf } from "../../base/time.js";
import { type Codec, SEALED_CHARS_MAX, sealJson } from "../job/codec.js";
import { isStored, STORED } from "../job/content-reference.js";
import type { EnqueueOptions, NewJob, UniqueClaim } from "../job/enqueue-options.js";
import { priceOf } from "../job/job-credits.js";
import { type JobDefinition, refuseReserved } from "../job/job-definition.js";
import { type LimitUse, usesOf } from "../job/named-limit.js";
import { type ContentStore, inputBytesMax, keepPayload } from "../job/stored-content.js";
import { uniqueKeyOf } from "../job/unique.js";
import { validateInput } from "../job/validate-input.js";
import type { EnqueueChain, JobDraft } from "./enqueue-middleware.js";

export type { EnqueueOptions };

export type EnqueueItem<In> = EnqueueOptions & { readonly input: In };

/** A definition, as far as its limits go. */
export interface RuledDefinition extends Pick<JobDefinition, "kind" | "limits"> {
  readonly uses: readonly Pick<LimitUse, "limit">[] | undefined;
}

/** Reports to the database what a definition says of its kind, before the first job: over a client's connections, or in a caller's transaction. */
export interface RuleTeller {
  /** True: there is nothing to report. */
  knows(definition: RuledDefinition): boolean;
  tell(definition: RuledDefinition): Promise<void>;
}

/** What jobs are made with. */
export interface JobMakers {
  readonly rules: RuleTeller;
  readonly codec: Codec | undefined;
  /** Takes payloads that are too large for a row. */
  readonly contents: ContentStore | undefined;
  readonly chain: EnqueueChain | undefined;
}

const KNOWN = [
  ...["tenant", "priority", "runAt", "delay", "idempotencyKey", "key", "batch"],
  ...["attempts", "timeout", "expire", "tags", "trace"],
] as const satisfies readonly (keyof EnqueueOptions)[];
const KNOWN_OF_ITEMS = ["input", ...KNOWN] as const;

/** Throws unless it is what defineJob returned. */
export function checkDefinition(definition: unknown): void {
  const isJob = readable("job", "job", () => typeof (definition as JobDefinition | undefined)?.kind === "string");
  if (!isJob) throw new ConfigError("job", `${showValue(definition)} is no job: pass what defineJob(…) returned.`);
}

/** Synchronous where the schema and the middlewares are, so that bulk enqueues do not pay a promise per job. */
export function newJob<In>(
  definition: JobDefinition<In, unknown>,
  input: In,
  options: EnqueueOptions,
  codec: Codec | undefined,
  chain?: EnqueueChain,
  contents?: ContentStore,
): NewJob | Promise<NewJob> {
  const made = draftedJob(definition, input, options, codec, chain, contents);
  if (contents === undefined) return made;
  return made instanceof Promise ? made.then((job) => keepPayload(contents, job)) : keepPayload(contents, made);
}

/** Its payload may still be too large for the row. */
function draftedJob<In>(
  definition: JobDefinition<In, unknown>,
  input: In,
  options: EnqueueOptions,
  codec: Codec | undefined,
  chain: EnqueueChain | undefined,
  contents: ContentStore | undefined,
): NewJob | Promise<NewJob> {
  checkDefinition(definition);
  if (chain === undefined) return validJob(definition, input, options, codec, contents);
  const made = (job: JobDraft) => validJob(definition, job.input as In, job.options, codec, contents);
  const draft = chain({ kind: definition.kind, queue: definition.queue, input, options });
  return draft instanceof Promise ? draft.then(made) : made(draft);
}

function validJob<In>(
  definition: JobDefinition<In, unknown>,
  input: In,
  options: EnqueueOptions,
  codec: Codec | undefined,
  contents: ContentStore | undefined,
  known: readonly string[] = KNOWN,
): NewJob | Promise<NewJob> {
  // Without a schema the input is not touched here: it may be anything.
  const valid = definition.schema === undefined ? undefined : validateInput(definition, input);
  return valid instanceof Promise
    ? valid.then(() => build(definition, input, options, codec, contents, known))
    : build(definition, input, options, codec, contents, known);
}

/** A job of a list, with its payload as it is: the list keeps those that are too large together. Where no middleware sees the options, they are read where they stand: a copy of each would cost more than reading it. */
export function newJobOf<In>(
  definition: JobDefinition<In, unknown>,
  item: EnqueueItem<In>,
  codec: Codec | undefined,
  chain: EnqueueChain | undefined,
  contents: ContentStore | undefined,
): NewJob | Promise<NewJob> {
  checkDefinition(definition);
  if (typeof item !== "object" || item === null)
    throw new ConfigError("jobs", `${showValue(item)} is no job of a list: pass { input, … } for each.`);
  const { input, isPlain } = readable("jobs", "a job of a list", () => ({
    input: item.input,
    isPlain: Object.getPrototypeOf(item) === Object.prototype,
  }));
  if (chain === undefined && isPlain) return validJob(definition, input, item, codec, contents, KNOWN_OF_ITEMS);
  const options = readable("jobs", "a job of a list", () => {
    const { input: _, ...others } = item;
    return others;
  });
  return draftedJob(definition, input, options, codec, chain, contents);
}

function build<In>(
  definition: JobDefinition<In, unknown>,
  input: In,
  options: EnqueueOptions,
  codec: Codec | undefined,
  contents: ContentStore | undefined,
  known: readonly string[],
): NewJob {
  refuseReserved(definition.kind, "enqueue");
  const {
    tenant = "default",
    priority,
    runAt,
    delay,
    idempotencyKey: once,
    key,
    batch,
    attempts,
    timeout,
    expire,
    tags,
    trace,
  } = read(definition, options, known);
  if (runAt !== undefined && delay !== undefined)
    throw new ConfigError("delay", `enqueue("${definition.kind}"): give runAt or delay, not both.`);
  const timed = runAt !== undefined ? "runAt" : delay !== undefined ? "delay" : undefined;
  if (timed !== undefined && definition.unique?.debounceMs !== undefined)
    throw new ConfigError(timed, `enqueue("${definition.kind}"): debounce says when the job runs; leave ${timed} out.`);
  const ownKey = key === undefined ? definition.key?.(input) : key;
  // What is stored is what was given, not what the schema made of it: the handler validates it again.
  const json = serializeInput(definition.kind, input, inputBytesMax(contents));
  // Asked of what is stored: the input itself may have traps.
  if (json.includes(STORED) && isStored(JSON.parse(json)))
    throw new InputInvalidError(definition.kind, [{ path: STORED, message: "this name is for payloads in a storage" }]);
  nameOf(tenant, "tenant");
  const price = definition.credits && priceOf(definition.credits, input);
  return {
    kind: definition.kind,
    queue: definition.queue,
    tenant,
    priority: priority === undefined ? definition.priority : wholeNumber(priority, -1000, 1000, "priority"),
    attemptsMax: attempts === undefined ? definition.maxAttempts : wholeNumber(attempts, 1, 1000, "attempts"),
    expireMs: expire === undefined ? definition.expireMs : toMs(expire, "expire"),
    timeoutMs: timeout === undefined ? undefined : toMs(timeout, "timeout"),
    tags: tags === undefined ? undefined : tagsOf(tags),
    trace: trace === undefined ? undefined : traceOf(trace),
    key: ownKey === undefined ? undefined : nameOf(ownKey, "key"),
    runAt: runAt === undefined ? undefined : momentOf(runAt, "runAt"),
    delayMs: delay === undefined ? undefined : toMs(delay, "delay"),
    idempotencyKey: once === undefined ? undefined : idempotencyKey(once),
    batch: batch === undefined ? undefined : checkBatchId(batch),
    unique: definition.unique && uniqueClaim(definition, input, json, tenant, codec),
    account: price?.account,
    amount: price?.amount,
    uses: definition.uses && usesOf(definition.uses, input),
    payload: codec === undefined ? json : sealedPayload(codec, json, { kind: definition.kind, tenant }, contents),
  };
}

/** Where a storage takes what is too large, the wall of the schema does not matter. */
const sealedPayload = (
  codec: Codec,
  json: string,
  of: Pick<NewJob, "kind" | "tenant">,
  contents: ContentStore | undefined,
): string => sealJson(codec, json, of, "payload", contents === undefined ? SEALED_CHARS_MAX : Number.POSITIVE_INFINITY);

/** Each option is read once. Done for every job, so without a copy, and without a text to say whose they are. */
function read(
  definition: { readonly kind: string },
  options: EnqueueOptions,
  known: readonly string[],
): EnqueueOptions {
  try {
    if (!hasOthers(options, known)) {
      const { tenant, priority, runAt, delay, idempotencyKey, key, batch, ...others } = options as AnyOptions;
      const { attempts, timeout, expire, tags, trace } = others;
      const timed = { runAt, delay, timeout, expire };
      return { tenant, priority, ...timed, idempotencyKey, key, batch, attempts, tags, trace } as EnqueueOptions;
    }
  } catch {}
  // Says what is wrong with them.
  refuseUnknown(options, known, `enqueue("${definition.kind}")`);
  throw new ConfigError("options", `enqueue("${definition.kind}"): the options cannot be read.`);
}

type AnyOptions = { [Name in keyof EnqueueOptions]?: unknown };

/** Asked of every job, so without a list of its keys and a text to say whose they are. */
function hasOthers(options: EnqueueOptions, known: readonly string[]): boolean {
  if (typeof options !== "object" || options === null) return true;
  for (const key in options) if (!known.includes(key)) return true;
  return false;
}

function uniqueClaim<In>(
  { kind, unique }: JobDefinition<In, unknown>,
  input: In,
  json: string,
  tenant: string,
  codec: Codec | undefined,
): UniqueClaim {
  const { by: _, ...rule } = unique!;
  // A bare hash of an input that can be guessed gives the input away.
  const fingerprint = codec?.fingerprint && ((text: string) => codec.fingerprint!(text, { kind, tenant }));
  return { ...rule, key: uniqueKeyOf(unique!, input, json, fingerprint) };
}

const TAGS_MAX = 16;
const TAG_CHARS_MAX = 64;

/** A copy, checked; undefined: none. */
function tagsOf(tags: readonly string[]): readonly string[] | undefined {
  const list = readable("tags", "enqueue", () => (Array.isArray(tags) ? [...tags] : undefined));
  if (list === undefined || list.length > TAGS_MAX)
    throw new ConfigError("tags", `tags: ${showValue(tags)} is no list of at most ${TAGS_MAX} texts.`);
  for (const tag of list) checkTag(tag, "tags");
  return list.length === 0 ? undefined : list;
}

/** PostgreSQL counts characters, JavaScript their halves. */
const isTag = (tag: unknown): tag is string =>
  typeof tag === "string" &&
  tag.length >= 1 &&
  (tag.length <= TAG_CHARS_MAX || [...tag].length <= TAG_CHARS_MAX) &&
  !tag.includes("\0") &&
  tag.isWellFormed();

export function checkTag(tag: unknown, where: string): string {
  if (isTag(tag)) return tag;
  throw new ConfigError(where, `${where}: ${showValue(tag)} is not a text of 1 to ${TAG_CHARS_MAX} characters.`);
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function traceOf(trace: string): string {
  if (typeof trace === "string" && TRACEPARENT.test(trace)) return trace;
  throw new ConfigError(
    "trace",
    `trace: ${showValue(trace)} is no traceparent, like "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".`,
  );
}

export function idempotencyKey(key: string): string {
  if (typeof key === "string" && key.length >= 1 && key.length <= 500 && !key.includes("\0") && key.isWellFormed())
    return key;
  throw new ConfigError("idempotencyKey", `idempotencyKey: ${showValue(key)} is not a text of 1 to 500 characters.`);
}
