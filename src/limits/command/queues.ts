// `fairmill queues`: what waits and runs in each queue, and `set`: the limits of one.
import type { QueueOverview } from "../overview-statements.js";
import { limitsCommand, shownCount } from "./limits-command.js";

export const queues = limitsCommand<QueueOverview>({
  scope: "queue",
  summary: "list queues with their limits, or set those of one",
  description: `Lists queues that jobs, living workers or settings name. Counts stop at a bound: 1000+. With set, changes the limits of one queue across
the fleet; what is not named stays as it is.`,
  examples: [
    ["fairmill queues", "what waits and runs where"],
    ["fairmill queues set mails --max-running 50", "50 at once, however many workers"],
    ["fairmill queues set mails --rate 5/1s --rate-how uniform", "one every 200 ms"],
    ["fairmill queues set mails --no-max-running --no-rate", "no limits any more"],
  ],
  nothing:
    "There is no queue yet: no job, no living worker and no setting names one. Start with: fairmill enqueue <kind>",
  list: (client, page) => client.queues(page),
  set: (client, name, settings) => client.setQueue(name, settings),
  nameOf: ({ queue }) => queue,
  columns: {
    WORKERS: ({ workers }) => String(workers),
    READY: ({ ready }) => shownCount(ready),
    RUNNING: ({ running }) => shownCount(running),
    SCHEDULED: ({ scheduled }) => shownCount(scheduled),
    BLOCKED: ({ blocked }) => shownCount(blocked),
  },
});
