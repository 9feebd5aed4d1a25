// The calls of a client that pause and resume a queue, a kind or a tenant.

import { nameOf, readable } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { checkPauseEnd, checkPauseTarget, type PauseRequest, type PauseTarget } from "./limit-settings.js";
import { setLimits } from "./limit-statements.js";

export interface PauseCalls {
  /**
   * Starts no more jobs of a queue, a kind or a tenant: until `until`, for the time `for`, or until `resume`. What runs goes on; what is enqueued
   * waits. What is paused already is paused as this call says.
   */
  pause(what: PauseRequest): Promise<void>;
  /** Lets them start again, as their limits allow. */
  resume(what: PauseTarget): Promise<void>;
}

export function pauseCalls(context: ClientContext): PauseCalls {
  const set = async (what: PauseTarget, settings: Record<string, unknown>, where: string) => {
    const { scope, name } = checkPauseTarget(what, where);
    return context.call(() => setLimits(context, scope, nameOf(name, scope), settings));
  };
  return {
    pause: async (what) => {
      const isObject = typeof what === "object" && what !== null;
      const asked: Partial<PauseRequest> = readable("name", "pause", () => (isObject ? { ...what } : {}));
      const { until, for: lasting, ...target } = asked;
      return set(target as PauseTarget, checkPauseEnd({ until, for: lasting }, "pause"), "pause");
    },
    resume: (what) => set(what, { paused: false }, "resume"),
  };
}
