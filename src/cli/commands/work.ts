// `fairmill work`: a worker with the config's handlers, until a signal ends it.
import { defineCommand } from "../command.js";
import { CONFIG_NAMES } from "../config-file.js";
import { UsageError } from "../failure.js";
import { catchSignals } from "../signals.js";
import { findTarget } from "../target.js";
import { declareWorkerFlags, sayStopping, type WorkerFlags, workerFrom } from "../worker-from-config.js";

export const work = defineCommand<WorkerFlags>({
  name: "work",
  summary: "run jobs with the handlers of the config",
  description: `The first SIGTERM or SIGINT (Ctrl-C) lets running jobs finish within the grace period and ends with exit code 0;
a second one ends at once. With --json the value appears when the worker has started, and logs go to stderr.`,
  examples: [
    ["fairmill work", "every queue that the handlers name"],
    ["fairmill work --queue mails --queue reports --concurrency 20", "two queues, 20 jobs at once in each"],
    ["fairmill work --grace 2m", "give running jobs two minutes when a signal comes"],
  ],
  declare: declareWorkerFlags,
  run: async ({ options, out }) => {
    const target = await findTarget(options, "handlers");
    if (target.config === undefined)
      throw new UsageError(
        `There is no config here or above, so no handlers: write ${CONFIG_NAMES[0]}, or pass --config.`,
      );
    const worker = await workerFrom(target.config, options, target, out);
    const signals = catchSignals(() => sayStopping(out));
    try {
      await worker.start();
      if (out.json) out.result({ worker: worker.id }, "");
      await signals.first;
      await worker.stop();
    } finally {
      signals.release();
    }
    return 0;
  },
});
