// The middlewares that are there unless somebody removes them.

import type { EnqueueMiddleware } from "../core/enqueue/enqueue-middleware.js";
import { Chain, chainOf } from "../core/job/middleware-chain.js";
import { batchCoordination } from "./batch-coordination.js";

/** What a client uses by itself: `use: defaultChain.remove("batch-coordination")` does without. */
export const defaultChain: Chain<EnqueueMiddleware> = new Chain([batchCoordination()]);

/** A list stands behind the default ones, and one of the same name takes their place; a chain is used as it is. */
export function usedBy(use: Iterable<EnqueueMiddleware> | undefined): Chain<EnqueueMiddleware> {
  const given = chainOf(use);
  if (given === undefined) return defaultChain;
  if (use instanceof Chain) return given;
  const kept = [...defaultChain].filter(({ name }) => !given.names.includes(name));
  return new Chain([...kept, ...given]);
}
