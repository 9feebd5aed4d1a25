// What a run really used of named limits, said by its handler: it goes with the settle of the job, or at once where others wait for what is given
// back. What is said is the whole of the run, so that it may be said again.
import { ConfigError, LeaseLostError } from "../base/errors.js";
import { refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { Claim } from "../core/job/claim.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { checkUnits, type NamedLimit } from "../core/job/named-limit.js";
import type { ContextMembers } from "../core/run/context.js";
import type { Run } from "../core/run/run.js";
import type { VerdictDetailWriter } from "../core/settle/verdict-details.js";
import type { Database } from "../db/database.js";
import { explaining } from "../db/explain-failure.js";

/** By limit, what the run used of each unit. */
export interface UsedUnits {
  readonly [limit: string]: { readonly [unit: string]: number };
}

export interface UseOptions {
  /** Write it now, and not with the settle: what was not used is free for others before the handler returns. */
  readonly now?: boolean;
}

export interface UseContext {
  /**
   * Says what this run has really used of a limit that its kind names in `limits.uses`: the whole of it so far, so the last call counts. Less than
   * the estimate is given back, more is owed and delays later starts. Written with the settle, however the run ends.
   */
  use<Unit extends string>(
    limit: NamedLimit<Unit, never>,
    units: { readonly [Name in Unit]?: number },
    options?: UseOptions,
  ): Promise<void>;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends UseContext {}
}

declare module "../core/job/outcome.js" {
  interface VerdictDetails {
    /** What the run used of named limits. */
    readonly used?: UsedUnits;
  }
}

export const usedWriter: VerdictDetailWriter<UsedUnits> = {
  text: (used) => JSON.stringify(used),
  bare: (used) => used,
  mayWait: true,
};

/** Writes what a run used, under its fence; false: the lease was lost. */
export type UnitKeeper = (claim: Claim, used: UsedUnits) => Promise<boolean>;

const USE = "select fairmill.use_v1($1, $2, $3, $4) as accepted";

export const unitKeeper =
  (db: Database): UnitKeeper =>
  ({ worker, id, leaseNo }, used) =>
    explaining(db.schema, async () => {
      const [row] = await db.query<{ accepted: boolean }>(USE, [worker, id, leaseNo, JSON.stringify(used)]);
      return row!.accepted;
    });

/** By kind, the names of the limits that its jobs use. */
export type UsesOfKinds = ReadonlyMap<string, ReadonlySet<string>>;

export const usesOfKinds = (definitions: readonly Pick<JobDefinition<never>, "kind" | "uses">[]): UsesOfKinds =>
  new Map(
    definitions.flatMap(({ kind, uses }) => (uses ? [[kind, new Set(uses.map(({ limit }) => limit.name))]] : [])),
  );

export function useMembers(keep: UnitKeeper, kinds: UsesOfKinds): ContextMembers<keyof UseContext> {
  const use = useIn(keep, kinds);
  return {
    use:
      (run) =>
      (limit, units, options = {}) =>
        use(run, limit, units, options),
  };
}

/** Checks and notes; the promise is for what is written at once. */
function useIn(keep: UnitKeeper, kinds: UsesOfKinds) {
  return async (run: Run, limit: NamedLimit<string, never>, units: object, options: UseOptions): Promise<void> => {
    const { claim } = run;
    const name = limit?.name;
    if (!kinds.get(claim.kind)?.has(name))
      throw new ConfigError(
        "limit",
        `ctx.use(${showValue(name)}): the kind "${claim.kind}" does not use this limit. Name it in limits.uses of its definition.`,
      );
    refuseUnknown(options, ["now"], "ctx.use");
    const checked = checkUnits(units, limit, "ctx.use");
    if (run.isDecided || run.isCompleted)
      throw new LeaseLostError("The run has ended: what it used must be said by a handler that still runs.");
    const { [name]: before, ...others } = run.details?.used ?? {};
    const whole = { ...before, ...checked };
    run.details = { ...run.details, used: { ...others, [name]: whole } };
    if (options.now === true && !(await keep(claim, { [name]: whole })))
      throw new LeaseLostError("The lease on this job was lost: another worker may be running it now.");
  };
}
