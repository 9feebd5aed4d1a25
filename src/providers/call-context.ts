// Calls of providers in the context of handlers.
import type { Clock } from "../base/clock.js";
import { ConfigError } from "../base/errors.js";
import { refuseUnknown } from "../base/settings.js";
import { chainOf } from "../core/job/job-needs.js";
import type { ContextMembers } from "../core/run/context.js";
import type { Run } from "../core/run/run.js";
import { rejected } from "../core/run/run-effects.js";
import type { CallKeeper } from "./call-keeper.js";
import { checkCost, type Provider } from "./provider.js";
import { type CallContext, type CallOptions, Calls } from "./run-calls.js";

export interface ProviderContext {
  /**
   * Calls a provider under the limits, the breaker and the time limit that all workers share: `ctx.call(gemini, ({ signal }) => fetch(url, { signal }))`.
   * Where it is closed or fails, its fallbacks are called, or the next ones of a list. Resolves with what the function returned. Inside of `ctx.step` it is
   * called, and paid, once.
   */
  call<T>(
    provider: Provider | readonly Provider[],
    work: (call: CallContext) => T | Promise<T>,
    options?: CallOptions,
  ): Promise<T>;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends ProviderContext {}
}

export function callMembers(keeper: CallKeeper, clock: Clock): ContextMembers<keyof ProviderContext> {
  const callsOf = (run: Run) =>
    run.attached(
      Calls,
      () =>
        new Calls({
          claim: run.claim,
          ...{ clock, keeper },
          isOver: () => run.isDecided,
          abortedBy: () => run.abortedBy,
        }),
    );
  return {
    call:
      (run) =>
      (provider, work, options = {}) => {
        try {
          const refusal = run.asked?.refusal("ctx.call");
          if (refusal !== undefined) return rejected(refusal);
          refuseUnknown(options, ["cost"], "ctx.call");
          if (typeof work !== "function")
            throw new ConfigError(
              "call",
              "ctx.call: the second argument must be a function, like ({ signal }) => fetch(url, { signal }).",
            );
          const { cost } = options;
          const checked = cost === undefined ? {} : { cost: checkCost(cost, "ctx.call: cost") };
          return callsOf(run).call(chainOf(provider, "ctx.call"), work, checked);
        } catch (error) {
          return rejected(error as Error);
        }
      },
  };
}
