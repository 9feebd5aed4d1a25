// `fairmill pause`: starts no more jobs of a queue, a kind or a tenant.
import { defineCommand } from "../../cli/command.js";
import { findTarget, withClient } from "../../cli/target.js";
import { declareScope, oneScope, type ScopeOptions } from "./one-scope.js";

export const pause = defineCommand<ScopeOptions>({
  name: "pause",
  summary: "start no more jobs of a queue, a kind or a tenant",
  description: "What runs goes on; what is enqueued waits. Name one of --queue, --kind and --tenant.",
  examples: [
    ["fairmill pause --queue mails", "no mail is started until `fairmill resume --queue mails`"],
    ["fairmill pause --kind report.make", "one kind of jobs, in all queues"],
    ["fairmill pause --tenant acme", "one tenant"],
  ],
  declare: declareScope,
  run: async ({ options, out }) => {
    const { target, words } = oneScope(options, "pause");
    await withClient(await findTarget(options), (client) => client.pause(target));
    const [scope, name] = Object.entries(target)[0]!;
    out.result({ scope, name, paused: true }, `The ${words} is paused: nothing of it is started until it is resumed.`);
    return 0;
  },
});
