// Tick handlers for tests: closed when the test ends, silent unless told otherwise.
import { createTickHandler, silentLogger } from "fairmill";
import type { TickHandler, TickHandlerOptions } from "fairmill/tick";
import { endAfterTest } from "../support/leftovers.js";

export const SECRET = "the first secret which has enough bytes";
export const OTHER_SECRET = "the-other-secret-which-has-enough-bytes";

const open = new Set<TickHandler>();
endAfterTest(async () => {
  for (const handler of open) await handler.close();
  open.clear();
});

export function tickHandler(options: Partial<TickHandlerOptions>): TickHandler {
  const handler = createTickHandler({ secret: SECRET, logger: silentLogger, ...options } as TickHandlerOptions);
  open.add(handler);
  return handler;
}

/** A call of the handler as a platform makes it. */
export const call = (headers: Record<string, string> = {}, method = "POST"): Request =>
  new Request("https://app.example/api/tick", { method, headers });

/** A call with the right secret. */
export const rightCall = (): Request => call({ "x-internal-secret": SECRET });
