// `fairmill queues`: what waits and runs in each queue.
import type { QueueOverview } from "../overview-statements.js";
import { limitsCommand, shownCount } from "./limits-command.js";

export const queues = limitsCommand<QueueOverview>({
  scope: "queue",
  summary: "queues: list them with what waits and runs, show one, or set its limits",
  lists: "Lists queues that jobs, living workers or settings name. Counts stop at a bound: 1000+.",
  examples: [["fairmill queues", "what waits and runs where"]],
  examplesOfSet: [
    ["fairmill queues set mails --max-running 50", "50 at once, however many workers"],
    ["fairmill queues set mails --rate 5/1s --rate-how uniform", "one every 200 ms"],
    ["fairmill queues set mails --no-max-running --no-rate", "no limits any more"],
  ],
  nothing:
    "There is no queue yet: no job, no living worker and no setting names one. Start with: fairmill enqueue <kind>",
  notFound: "is named by no job, no living worker and no setting.",
  part: (client) => client.queues,
  nameOf: ({ queue }) => queue,
  columns: {
    WORKERS: ({ workers }) => String(workers),
    READY: ({ ready }) => shownCount(ready),
    RUNNING: ({ running }) => shownCount(running),
    SCHEDULED: ({ scheduled }) => shownCount(scheduled),
    BLOCKED: ({ blocked }) => shownCount(blocked),
  },
});
