// Says which batches upkeep found over that waited for more registrations.
import type { WorkerContext } from "../core/worker/worker-context.js";
import { readStable } from "./batch-statements.js";

export function reportStableBatches(context: WorkerContext): void {
  context.bus.on("upkeep", ({ batches }) => {
    if (batches.length > 0) void report(context, batches);
  });
}

async function report({ db, events, identity, log, trouble }: WorkerContext, ids: readonly string[]): Promise<void> {
  try {
    for (const stable of await readStable(db, ids)) {
      const facts = { worker: identity.id, batch: stable.batch, registered: stable.registered };
      log.info({ ...facts, lastRegisteredAt: stable.lastRegisteredAt?.toISOString() }, "Batch is stable, and over");
      events.emit("stable", { worker: identity.id, ...stable });
    }
  } catch (error) {
    trouble("reading batches that are stable", error);
  }
}
