// `fairmill tick`: one tick with the handlers of the config, from the shell or from cron.
import { type Duration, toMs } from "../../base/duration.js";
import { duration, given, names, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { CONFIG_NAMES } from "../../cli/config-file.js";
import { UsageError } from "../../cli/failure.js";
import { findTarget } from "../../cli/target.js";
import { loggerFor } from "../../cli/worker-from-config.js";
import { takenOver } from "../tick-settings.js";

interface TickFlags {
  readonly budget?: Duration;
  readonly maxJobs?: number;
  readonly maxJobsPerTenant?: number;
  readonly queue?: readonly string[];
}

export const tick = defineCommand<TickFlags>({
  name: "tick",
  summary: "run one tick: claim, run and settle a bounded number of jobs, then end",
  description: `Does what one call of a tick handler does: a share of upkeep and of schedules, then jobs until none is ready, the budget
is over or the tick has its share. Any number may run at once.`,
  examples: [
    ["fairmill tick", "at most 200 jobs, 25 of a tenant, within 50 seconds"],
    ["fairmill tick --budget 5m --max-jobs 1000 --json", "more at once, and what it did as JSON"],
  ],
  declare: (command) =>
    void command
      .option("--budget <duration>", "how long it may take, like 50s", duration("--budget"))
      .option("--max-jobs <n>", "jobs in all", whole("--max-jobs", 1, 10_000))
      .option("--max-jobs-per-tenant <n>", "jobs of one tenant", whole("--max-jobs-per-tenant", 1, 10_000))
      .option("--queue <name>", "work on this queue only (may be repeated)", names("--queue")),
  run: async ({ options, out }) => {
    const target = await findTarget(options, "handlers");
    if (target.config === undefined)
      throw new UsageError(
        `There is no config here or above, so no handlers: write ${CONFIG_NAMES[0]}, or pass --config.`,
      );
    const { runTick } = await import("../tick-handler.js");
    const report = await runTick({
      logger: loggerFor(out),
      ...takenOver(target.config.settings),
      ...given({
        schema: target.schema,
        budget: options.budget === undefined ? undefined : toMs(options.budget, "--budget"),
        maxJobsPerTick: options.maxJobs,
        maxJobsPerTenantPerTick: options.maxJobsPerTenant,
        queues: options.queue && Object.fromEntries(options.queue.map((queue) => [queue, {}])),
      }),
      databaseUrl: target.databaseUrl,
    });
    const { claimed, succeeded, failed, throttled, remaining, nextAt } = report;
    out.result(
      report,
      `${claimed} claimed, ${succeeded} succeeded, ${failed} failed, ${throttled} throttled; ${remaining} ready${nextAt === null ? "" : `, next at ${nextAt}`}.`,
    );
    return 0;
  },
});
