// `fairmill retry`: dead and cancelled jobs run again, waiting ones run now.

import { jobIds } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import type { RetryAnswer, RunNowAnswer } from "../control-jobs.js";
import { type Answered, eachJob } from "./each-job.js";

export const retry = defineCommand<{ fromStart?: true; despitePause?: true }, [ids: readonly string[]]>({
  name: "retry",
  summary: "run dead or cancelled jobs again, or waiting ones now",
  description:
    "A job goes on behind the steps that it has finished, unless --from-start says otherwise. Exit code 1 when one of the jobs does not exist, or succeeded before and is not run again.",
  examples: [
    ["fairmill retry 17", "one job"],
    ["fairmill retry 17 18 19", "several"],
    ["fairmill retry 17 --from-start", "all of it again, its finished steps included"],
    ["fairmill retry 17 --despite-pause", "this one now, though its queue is paused; the others stay"],
  ],
  declare: (command) =>
    void command
      .argument("<id...>", "ids of jobs", jobIds)
      .option("--from-start", "forget the steps that it has finished")
      .option("--despite-pause", "of waiting jobs: start once although tenant, queue or kind is paused"),
  run: ({ args: [ids], options, out }) => {
    const { fromStart = false, despitePause = false } = options;
    if (fromStart && despitePause) throw new UsageError("Give --from-start or --despite-pause, not both.");
    return eachJob<RetryAnswer | RunNowAnswer>(
      { ids, options, out },
      (client, id) => (despitePause ? client.jobs.runNow(id) : client.retry(id, { fromStart })),
      (answer) => MEANING[answer],
    );
  },
});

const MEANING: Record<RetryAnswer | RunNowAnswer, Answered> = {
  dead: { words: "has ended and waits for no pause: retry it without --despite-pause.", ok: false },
  cancelled: { words: "has ended and waits for no pause: retry it without --despite-pause.", ok: false },
  ready: { words: "is ready to run.", ok: true },
  running: { words: "is running already.", ok: true },
  blocked: { words: "is waiting for a limit and will run when it may.", ok: true },
  scheduled: { words: "is scheduled already.", ok: true },
  done: { words: "succeeded before and is not run again.", ok: false },
  order_busy: {
    words: "was not run again: its message may have arrived, or another of its order is under way (fairmill outbox)",
    ok: false,
  },
  no_credits: {
    words: "had reserved credits that were given back, and its account has not enough to reserve them again.",
    ok: false,
  },
  not_found: { words: "does not exist: the id is wrong, or retention removed the job.", ok: false },
};
