// `fairmill retry`: dead and cancelled jobs run again, waiting ones run now.

import { jobIds } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import type { RetryAnswer } from "../control-jobs.js";
import { type Answered, eachJob } from "./each-job.js";

export const retry = defineCommand<{ fromStart?: true }, [ids: readonly string[]]>({
  name: "retry",
  summary: "run dead or cancelled jobs again, or waiting ones now",
  description:
    "A job goes on behind the steps that it has finished, unless --from-start says otherwise. Exit code 1 when one of the jobs does not exist, or succeeded before and is not run again.",
  examples: [
    ["fairmill retry 17", "one job"],
    ["fairmill retry 17 18 19", "several"],
    ["fairmill retry 17 --from-start", "all of it again, its finished steps included"],
  ],
  declare: (command) =>
    void command
      .argument("<id...>", "ids of jobs", jobIds)
      .option("--from-start", "forget the steps that it has finished"),
  run: ({ args: [ids], options, out }) =>
    eachJob(
      { ids, options, out },
      (client, id) => client.retry(id, { fromStart: options.fromStart === true }),
      (answer) => MEANING[answer],
    ),
});

const MEANING: Record<RetryAnswer, Answered> = {
  ready: { words: "is ready to run.", ok: true },
  running: { words: "is running already.", ok: true },
  blocked: { words: "is waiting for a limit and will run when it may.", ok: true },
  scheduled: { words: "is scheduled already.", ok: true },
  done: { words: "succeeded before and is not run again.", ok: false },
  order_busy: {
    words: "was not put back: its message may have arrived, or another of its order is under way (fairmill outbox)",
    ok: false,
  },
  no_credits: {
    words: "had reserved credits that were given back, and its account has not enough to reserve them again.",
    ok: false,
  },
  not_found: { words: "does not exist: the id is wrong, or retention removed the job.", ok: false },
};
