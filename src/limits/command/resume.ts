// `fairmill resume`: lets jobs of a queue, a kind or a tenant start again.
import { defineCommand } from "../../cli/command.js";
import { findTarget, withClient } from "../../cli/target.js";
import { declareScope, oneScope, type ScopeOptions } from "./one-scope.js";

export const resume = defineCommand<ScopeOptions>({
  name: "resume",
  summary: "let jobs of a paused queue, kind or tenant start again",
  description: "Name one of --queue, --kind and --tenant. What was not paused stays as it is.",
  examples: [
    ["fairmill resume --queue mails", "mails are started again"],
    ["fairmill resume --tenant acme", "one tenant"],
  ],
  declare: declareScope,
  run: async ({ options, out }) => {
    const { target, words } = oneScope(options, "resume");
    await withClient(await findTarget(options), (client) => client.resume(target));
    const [scope, name] = Object.entries(target)[0]!;
    out.result(
      { scope, name, paused: false },
      `The ${words} is not paused: its jobs start again, as its limits allow.`,
    );
    return 0;
  },
});
