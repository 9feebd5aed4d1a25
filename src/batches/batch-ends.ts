// Waiting for the ends of batches and flows: all callers of a client look together.

import { SharedLook } from "../base/shared-look.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { readBatchEnds } from "./batch-statements.js";

export type BatchEnds = SharedLook<{ readonly isOver: boolean }>;

export const batchEndsOf = (context: ClientContext): BatchEnds =>
  new SharedLook(context.clock, {
    idsMax: 1_000,
    look: (ids) => context.call(() => readBatchEnds(context, ids)),
    isOver: ({ isOver }) => isOver,
  });
