// What a kind of job is: its name, its input, its queue, its limits of time and tries. Shared by those who enqueue and those who run.

import { type Duration, toMs } from "../../base/duration.js";
import { ConfigError } from "../../base/errors.js";
import { checkRedact } from "../../base/redact.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../../base/standard-schema.js";
import { type Backoff, exponential } from "./backoff.js";
import { checkJobCredits, type JobCredits } from "./job-credits.js";
import { type CheckedLimits, checkJobLimits, type JobLimits } from "./job-limits.js";
import { checkJobNeeds, type JobNeeds, type Needed } from "./job-needs.js";
import { checkUses, type LimitUse } from "./named-limit.js";
import { type UniqueRule, type UniqueSettings, uniqueRuleOf } from "./unique.js";

/** `unique`, `debounce`, `throttle`: see UniqueSettings. One of them, or none. */
export interface JobOptions<
  Schema extends StandardSchema | undefined,
  Input,
  Output extends StandardSchema | undefined = undefined,
> extends UniqueSettings<Input> {
  /** The name under which enqueue and handler find each other. */
  readonly kind: string;
  /** Validates the input at enqueue and again at run: any Standard Schema library. */
  readonly input?: Schema;
  /** Validates what the handler returns, before it is kept: any Standard Schema library. What does not fit is a failed attempt. */
  readonly output?: Output;
  /** Default "default". */
  readonly queue?: string;
  /** -1000 to 1000, higher goes first; default 0. */
  readonly priority?: number;
  /** Time limit of one run; default "5m". */
  readonly timeout?: Duration;
  /** Time to live in the queue: a job that has waited longer ends as dead. Default: none. */
  readonly expire?: Duration;
  readonly retry?: { readonly attempts?: number; readonly backoff?: Backoff };
  /** A finer key inside the tenant: a user, an account, a resource. */
  readonly key?: (input: Input) => string;
  /** How many at once, and how many in a time: per key, per tenant, or for the whole kind. */
  readonly limits?: JobLimits<Input>;
  /** What the job costs its account. */
  readonly credits?: JobCredits<Input>;
  /** Providers without which no job of the kind starts; of a list, or of a provider with fallbacks, one must be open. */
  readonly needs?: JobNeeds;
  /** Keys or paths of contents that must not be shown or logged, like "password" or "user.email". */
  readonly redact?: readonly string[];
}

/**
 * A checked definition. `In` is what enqueue takes, `Out` what the handler gets (they differ where the schema transforms); `Returned` is what the
 * handler returns, `Result` what is kept of it.
 */
export interface JobDefinition<In = unknown, Out = In, Result = unknown, Returned = unknown> {
  readonly kind: string;
  readonly queue: string;
  readonly priority: number;
  readonly timeoutMs: number;
  readonly expireMs: number | undefined;
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  readonly key: ((input: In) => string) | undefined;
  readonly limits: CheckedLimits | undefined;
  /** Named limits, and what each job takes of them; undefined: none. */
  readonly uses: readonly LimitUse<In>[] | undefined;
  readonly credits: JobCredits<In> | undefined;
  /** What `unique`, `debounce` or `throttle` came to. */
  readonly unique: UniqueRule<In> | undefined;
  /** Chains of providers: of each, one must be open for a job to start. Empty: it needs none. */
  readonly needs: readonly (readonly Needed[])[];
  /** Keys and paths that are not shown or logged; empty: none. */
  readonly redact: readonly string[];
  readonly schema: StandardSchema<In, Out> | undefined;
  readonly output: StandardSchema<Returned, Result> | undefined;
  /** Only types. */
  readonly "~result"?: Result;
  readonly "~returned"?: Returned;
}

const KNOWN = [
  "kind",
  "input",
  "output",
  "queue",
  "priority",
  "timeout",
  "expire",
  "retry",
  "key",
  "limits",
  "credits",
  "unique",
  "debounce",
  "throttle",
  "needs",
  "redact",
] as const;

/** Kinds that begin with it are made by the library alone: jobs that deliver messages. */
const RESERVED = "fairmill.";

/** At every door where a job comes in: one of these without its message would have nothing to deliver. */
export function refuseReserved(kind: unknown, where: string): void {
  if (typeof kind === "string" && kind.startsWith(RESERVED))
    throw new ConfigError(
      "kind",
      `${where}: kinds that begin with "${RESERVED}" are Fairmill's own. Choose another name; a message is sent with client.publish.`,
    );
}

/**
 * Declares a kind of job. Without schemas, name the types of input and result: `defineJob<{ userId: string }, { sent: boolean }>({ kind: "…" })`.
 */
export function defineJob<Schema extends StandardSchema, Output extends StandardSchema>(
  options: JobOptions<Schema, SchemaInput<Schema>, Output> & { readonly input: Schema; readonly output: Output },
): JobDefinition<SchemaInput<Schema>, SchemaOutput<Schema>, SchemaOutput<Output>, SchemaInput<Output>>;
export function defineJob<Schema extends StandardSchema>(
  options: JobOptions<Schema, SchemaInput<Schema>, undefined> & {
    readonly input: Schema;
    readonly output?: undefined;
  },
): JobDefinition<SchemaInput<Schema>, SchemaOutput<Schema>>;
export function defineJob<Input = unknown, Result = unknown>(
  options: JobOptions<undefined, Input, undefined> & { readonly input?: undefined; readonly output?: undefined },
): JobDefinition<Input, Input, Result, Result>;
export function defineJob<Output extends StandardSchema>(
  options: JobOptions<undefined, unknown, Output> & { readonly input?: undefined; readonly output: Output },
): JobDefinition<unknown, unknown, SchemaOutput<Output>, SchemaInput<Output>>;
// biome-ignore lint/suspicious/noExplicitAny: the overloads above are what callers see.
export function defineJob(options: JobOptions<any, any, any>): JobDefinition<any, any, any, any> {
  return readable("options", "defineJob", () => declareJob(options));
}

// biome-ignore lint/suspicious/noExplicitAny: see above.
function declareJob(options: JobOptions<any, any, any>): JobDefinition<any, any, any, any> {
  if (typeof options !== "object" || options === null)
    throw new ConfigError("options", `defineJob(${showValue(options)}): pass an object, like { kind: "mail.send" }.`);
  const where = `defineJob(${showValue(options.kind)})`;
  refuseReserved(options.kind, where);
  return checkDefinition(options, where);
}

/** The same for a kind of Fairmill's own. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function defineOwnJob(options: JobOptions<any, any, any>): JobDefinition<any, any, any, any> {
  return checkDefinition(options, `defineJob(${showValue(options.kind)})`);
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
function checkDefinition(options: JobOptions<any, any, any>, where: string): JobDefinition<any, any, any, any> {
  refuseUnknown(options, KNOWN, where);
  if (options.retry !== undefined) refuseUnknown(options.retry, ["attempts", "backoff"], `${where}.retry`);
  for (const setting of ["input", "output"] as const)
    if (options[setting] !== undefined && typeof options[setting]?.["~standard"]?.validate !== "function")
      throw new ConfigError(
        setting,
        `${where}: ${setting} is not a Standard Schema. Use zod, valibot, arktype or another library that is.`,
      );
  if (options.key !== undefined && typeof options.key !== "function")
    throw new ConfigError("key", `${where}: key must be a function that makes a text of the input.`);
  if (options.retry?.backoff !== undefined && typeof options.retry.backoff !== "function")
    throw new ConfigError("retry.backoff", `${where}: retry.backoff must be made by exponential(…) or fixed(…).`);
  return Object.freeze({
    kind: nameOf(options.kind, "kind"),
    queue: nameOf(options.queue ?? "default", "queue"),
    priority: wholeNumber(options.priority ?? 0, -1000, 1000, "priority"),
    timeoutMs: toMs(options.timeout ?? "5m", "timeout"),
    expireMs: options.expire === undefined ? undefined : toMs(options.expire, "expire"),
    maxAttempts: wholeNumber(options.retry?.attempts ?? 3, 1, 1000, "retry.attempts"),
    backoff: options.retry?.backoff ?? exponential(),
    key: options.key,
    limits: checkJobLimits(options.limits, options.key !== undefined, where),
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    uses: checkUses(options.limits?.uses, where) as readonly LimitUse<any>[] | undefined,
    credits: checkJobCredits(options.credits, where),
    unique: uniqueRuleOf(options, where),
    needs: checkJobNeeds(options.needs, where),
    redact: checkRedact(options.redact, where),
    schema: options.input,
    output: options.output,
  });
}
