// The call of a client that sends a signal to a job.

import type { ClientContext } from "../core/enqueue/client-context.js";
import { checkSignal, sealSignal } from "./signals.js";
import { type SignalAnswer, sendSignal } from "./step-statements.js";

export interface SignalCalls {
  /** Sends a job the signal that `ctx.waitFor(name)` waits for, now or later. The first one counts. */
  signal(id: string, name: string, value?: unknown): Promise<SignalAnswer>;
}

export const signalCalls = (context: ClientContext): SignalCalls => ({
  signal: async (id, name, value) => {
    const signal = checkSignal(id, name, value);
    return context.call(async () => {
      const sealed = await sealSignal(context, context.codec, signal);
      return sendSignal(context, signal.jobId, signal.name, sealed, context.isAlone);
    });
  },
});
