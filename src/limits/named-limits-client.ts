// `client.limits`: what named limits have left, asked, spent and reset from outside of a job.

import { ConfigError } from "../base/errors.js";
import { nameOf, readable } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { checkUnits, limitKey, type NamedLimit } from "../core/job/named-limit.js";
import { checkNamePage } from "./name-page.js";
import {
  type LimitAvailability,
  type NamedLimitOverview,
  readAvailability,
  readNamedLimits,
  resetNamedLimit,
  useNamedLimit,
} from "./named-limit-statements.js";
import type { NamePage } from "./overview-statements.js";

/** A limit: what defineLimit returned, or the name of one that a process has reported. */
export type LimitName<Unit extends string = string> = NamedLimit<Unit, never> | string;

export class Limits {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** A page of named limits by name, with their windows and how many jobs wait for them. */
  async list(page: NamePage = {}): Promise<NamedLimitOverview[]> {
    const wanted = checkNamePage(page, "limits.list");
    return this.#context.call(() => readNamedLimits(this.#context, wanted));
  }

  /** What is left of a limit, window by window. `key`: what its `by` makes of an input; a limit without `by` has none. */
  async available(limit: LimitName, key = ""): Promise<LimitAvailability[]> {
    const checked = checkLimit(limit);
    const of = limitKey(key, checked.name);
    return this.#context.call(() => readAvailability(this.#context, checked, of));
  }

  /** Spends units now. What the windows have no room for is owed, and delays the jobs that would start next. */
  async use<Unit extends string>(
    limit: LimitName<Unit>,
    units: { readonly [Name in Unit]?: number },
    key = "",
  ): Promise<void> {
    const checked = checkLimit(limit);
    const used = checkUnits(units, checked, "limits.use");
    const of = limitKey(key, checked.name);
    return this.#context.call(() => useNamedLimit(this.#context, checked, of, used));
  }

  /** Empties the windows: nothing counts and nothing is owed any more. */
  async reset(limit: LimitName, key = ""): Promise<void> {
    const checked = checkLimit(limit);
    const of = limitKey(key, checked.name);
    return this.#context.call(() => resetNamedLimit(this.#context, checked, of));
  }
}

/** By name alone its windows are the database's business. */
export type CheckedLimit = { readonly name: string; readonly windows?: NamedLimit["windows"] };

function checkLimit(limit: unknown): CheckedLimit {
  if (typeof limit === "string") return { name: nameOf(limit, "limit") };
  const known = readable("limit", "limit", () =>
    typeof limit === "object" && limit !== null && Array.isArray((limit as NamedLimit).windows)
      ? { name: (limit as NamedLimit).name, windows: (limit as NamedLimit).windows }
      : undefined,
  );
  if (known !== undefined) return { name: nameOf(known.name, "limit"), windows: known.windows };
  throw new ConfigError("limit", `${showValue(limit)} is no limit: pass what defineLimit(…) returned, or its name.`);
}
