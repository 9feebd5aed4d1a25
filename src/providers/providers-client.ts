// `client.providers`: how providers are, what calls cost, and opening and closing them by hand.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError, FairmillError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { limitOf } from "../base/page.js";
import { nameOf, oneOf, readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import {
  COST_GROUPS,
  type CostFilter,
  type CostGroup,
  type CostSum,
  closeProvider,
  EVENTS_MAX,
  type JobCharge,
  openProvider,
  type ProviderEvent,
  type ProviderState,
  readCharges,
  readCosts,
  readEvents,
  readProviders,
  resetProvider,
} from "./provider-statements.js";

export interface CloseOptions {
  /** For how long; default: until it is opened. */
  readonly for?: Duration;
  /** Why, for people. */
  readonly note?: string;
}

/** There is no provider of this name: no worker has reported it yet. */
export class ProviderNotFoundError extends FairmillError {
  override readonly name = "ProviderNotFoundError";
  constructor(provider: string) {
    super(
      "FAIRMILL_PROVIDER_NOT_FOUND",
      `There is no provider ${showValue(provider)}: the name is wrong, or no worker that uses it has started yet.`,
    );
  }
}

const COSTS_MAX = 1_000;

export class Providers {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** All of them, by name. */
  list(): Promise<ProviderState[]> {
    return this.#context.call(() => readProviders(this.#context, undefined));
  }

  /** Undefined: no worker has reported one of this name. */
  get(name: string): Promise<ProviderState | undefined> {
    return this.#context.call(async () => (await readProviders(this.#context, [nameOf(name, "provider")]))[0]);
  }

  /** What became of it, newest first; at most 200 changes, 50 unless `limit` says. */
  events(name: string, options: { readonly limit?: number } = {}): Promise<ProviderEvent[]> {
    return this.#context.call(async () => {
      refuseUnknown(options, ["limit"], "providers.events");
      return readEvents(this.#context, nameOf(name, "provider"), limitOf(options.limit, EVENTS_MAX));
    });
  }

  /** What calls cost: sums by provider, or by whatever `by` says, of today or of other days. */
  costs(filter: CostFilter = {}): Promise<CostSum[]> {
    return this.#context.call(async () => readCosts(this.#context, checkCosts(filter)));
  }

  /** The calls of a job that cost something. */
  charges(jobId: string): Promise<JobCharge[]> {
    return this.#context.call(async () => readCharges(this.#context, checkJobId(jobId)));
  }

  /** No call begins from now on, and no job starts that needs it. */
  close(name: string, options: CloseOptions = {}): Promise<void> {
    return this.#context.call(async () => {
      refuseUnknown(options, ["for", "note"], "providers.close");
      const { note } = options;
      if (note !== undefined && typeof note !== "string")
        throw new ConfigError("note", `providers.close: note: ${showValue(note)} is no text.`);
      const until =
        options.for === undefined ? undefined : new Date(this.#context.clock.now() + toMs(options.for, "for"));
      this.#found(name, await closeProvider(this.#context, nameOf(name, "provider"), until, note));
    });
  }

  /** Whatever closed it: an operator, its breaker, or a limit that it named. */
  open(name: string): Promise<void> {
    return this.#context.call(async () =>
      this.#found(name, await openProvider(this.#context, nameOf(name, "provider"))),
    );
  }

  /** Opens it, and forgets results and pace as well. */
  reset(name: string): Promise<void> {
    return this.#context.call(async () =>
      this.#found(name, await resetProvider(this.#context, nameOf(name, "provider"))),
    );
  }

  #found(name: string, isFound: boolean): void {
    if (!isFound) throw new ProviderNotFoundError(name);
  }
}

function checkCosts(filter: CostFilter) {
  refuseUnknown(filter, ["since", "until", "tenant", "provider", "kind", "by", "limit"], "providers.costs");
  const by = readable("by", "providers.costs", () => checkGroups(filter.by ?? ["provider"]));
  for (const setting of ["since", "until"] as const) {
    const day: unknown = filter[setting];
    if (day !== undefined && !(typeof day === "string" && isDay(day)))
      throw new ConfigError(setting, `providers.costs: ${setting}: ${showValue(day)} is no day like "2026-11-18".`);
  }
  for (const setting of ["tenant", "provider", "kind"] as const)
    if (filter[setting] !== undefined) nameOf(filter[setting], setting);
  return { ...filter, by, limit: filter.limit === undefined ? 100 : limitOf(filter.limit, COSTS_MAX) };
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

function checkGroups(by: unknown): readonly CostGroup[] {
  if (!Array.isArray(by)) throw new ConfigError("by", `providers.costs: by: ${showValue(by)} is no list.`);
  return [...(by as readonly unknown[])].map((group) => oneOf(group, COST_GROUPS, "by", "providers.costs"));
}
