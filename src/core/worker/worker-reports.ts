// Says to users, by events and in the log, what the services tell one another.
import type { UpkeepReport } from "../upkeep/upkeep-statements.js";
import { ThrottleLog } from "./claim-log.js";
import type { WorkerContext } from "./worker-context.js";

export function reportNews(context: WorkerContext): void {
  const { bus, clock, events, log } = context;
  const throttleLog = new ThrottleLog(log, clock);
  bus.on("throttled", (throttled) => {
    throttleLog.add(throttled.worker, throttled);
    events.emit("throttled", throttled);
  });
  bus.on("lost", ({ worker }) => events.emit("lost", { worker }));
  bus.on("listening", (working) => events.emit("listening", { working }));
  bus.on("upkeep", (report) => reportUpkeep(context, report));
}

function reportUpkeep({ bus, events, identity, log }: WorkerContext, report: UpkeepReport): void {
  const { promoted, expired, recovered, ended, removed, batches } = report;
  if (promoted + expired + recovered + ended + removed + batches.length === 0) return;
  if (recovered + ended > 0)
    log.warn(
      { worker: identity.id, recovered, ended },
      `Reset ${recovered + ended} stuck jobs: their workers are dead`,
    );
  events.emit("upkeep", report);
  if (promoted + recovered > 0) bus.tell("wake", undefined);
}
