// `fairmill pause`: starts no more jobs of a queue, a kind or a tenant.
import type { Duration } from "../../base/duration.js";
import { duration, given, moment } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { findTarget, withClient } from "../../cli/target.js";
import { declareScope, oneScope, type ScopeOptions } from "./one-scope.js";

interface PauseOptions extends ScopeOptions {
  readonly until?: Date;
  readonly for?: Duration;
}

export const pause = defineCommand<PauseOptions>({
  name: "pause",
  summary: "start no more jobs of a queue, a kind or a tenant",
  description:
    "What runs goes on; what is enqueued waits. Name one of --queue, --kind and --tenant. With --until or --for the pause ends by itself.",
  examples: [
    ["fairmill pause --queue mails", "no mail is started until `fairmill resume --queue mails`"],
    ["fairmill pause --kind report.make", "one kind of jobs, in all queues"],
    ["fairmill pause --tenant acme", "one tenant"],
    ["fairmill pause --queue mails --for 10m", "ten minutes, by the clock of the database"],
    ["fairmill pause --queue mails --until 2030-01-31T09:00:00Z", "until a time"],
  ],
  declare: (command) => {
    declareScope(command);
    command
      .option("--until <time>", "ends then, like 2030-01-31T09:00:00Z", moment("--until"))
      .option("--for <duration>", "ends after this time, like 10m", duration("--for"));
  },
  run: async ({ options, out }) => {
    const { target, words } = oneScope(options, "pause");
    const { until, for: lasting } = options;
    if (until !== undefined && lasting !== undefined) throw new UsageError("Give --until or --for, not both.");
    await withClient(await findTarget(options), (client) => client.pause({ ...target, until, for: lasting }));
    const [scope, name] = Object.entries(target)[0]!;
    const end = until
      ? `before ${until.toISOString()}`
      : lasting === undefined
        ? "until it is resumed"
        : `for ${lasting}`;
    out.result(
      { scope, name, paused: true, ...given({ until, for: lasting }) },
      `The ${words} is paused: nothing of it is started ${end}.`,
    );
    return 0;
  },
});
