// `fairmill cancel`: jobs that wait end at once, jobs that run are asked to stop.

import { jobIds } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import type { CancelAnswer } from "../control-jobs.js";
import { type Answered, eachJob } from "./each-job.js";

export const cancel = defineCommand<object, [ids: readonly string[]]>({
  name: "cancel",
  summary: "cancel jobs: waiting ones at once, running ones through their signal",
  description: "Exit code 1 when one of the jobs does not exist.",
  examples: [
    ["fairmill cancel 17", "one job"],
    ["fairmill cancel 17 18 19", "several"],
  ],
  declare: (command) => void command.argument("<id...>", "ids of jobs", jobIds),
  run: ({ args: [ids], options, out }) =>
    eachJob(
      { ids, options, out },
      (client, id) => client.cancel(id),
      (answer) => MEANING[answer],
    ),
});

const MEANING: Record<CancelAnswer, Answered> = {
  cancelled: { words: "is cancelled.", ok: true },
  requested: { words: "is running; its handler is asked to stop.", ok: true },
  ended: { words: "had ended before; nothing was changed.", ok: true },
  not_found: { words: "does not exist: the id is wrong, or retention removed the job.", ok: false },
};
