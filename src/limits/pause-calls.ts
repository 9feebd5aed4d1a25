// The calls of a client that pause and resume a queue, a kind or a tenant.

import { nameOf } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { checkPauseTarget, type PauseTarget } from "./limit-settings.js";
import { setLimits } from "./limit-statements.js";

export interface PauseCalls {
  /** Starts no more jobs of a queue, a kind or a tenant. What runs goes on; what is enqueued waits. */
  pause(what: PauseTarget): Promise<void>;
  /** Lets them start again, as their limits allow. */
  resume(what: PauseTarget): Promise<void>;
}

export function pauseCalls(context: ClientContext): PauseCalls {
  const setPaused = async (what: PauseTarget, paused: boolean, where: string) => {
    const { scope, name } = checkPauseTarget(what, where);
    return context.call(() => setLimits(context, scope, nameOf(name, scope), { paused }));
  };
  return {
    pause: (what) => setPaused(what, true, "pause"),
    resume: (what) => setPaused(what, false, "resume"),
  };
}
