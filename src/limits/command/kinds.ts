// `fairmill kinds`: which kinds have limits, and `set`: the limits of one.
import type { KeyRule } from "../limit-settings.js";
import type { KindOverview } from "../overview-statements.js";
import { limitsCommand, shownRate } from "./limits-command.js";

export const kinds = limitsCommand<KindOverview>({
  scope: "kind",
  summary: "list kinds of jobs with their limits, or set those of one",
  description: `Lists kinds that have limits or that a living worker handles. BY DEFINITION is what the definition limits. With set, changes the limits of one
kind across the fleet; what is not named stays as it is.`,
  examples: [
    ["fairmill kinds", "what is limited, by its definition or by set"],
    ["fairmill kinds set report.make --max-running 4", "four reports at once"],
    ["fairmill kinds set report.make --no-max-running", "no cap any more"],
  ],
  nothing: "No kind has limits, and no living worker handles one. Limit one: fairmill kinds set mail.send --rate 5/1s",
  list: (client, page) => client.kinds(page),
  set: (client, name, settings) => client.setKind(name, settings),
  nameOf: ({ kind }) => kind,
  columns: { "BY DEFINITION": ({ limits }) => (limits === null ? "" : shownRule(limits)) },
});

/** "1 active, or refused; 5 per minute, of each key". */
function shownRule({ per, max_running, when_full, rate }: KeyRule): string {
  const places = max_running === null ? [] : [`${max_running} active${when_full === "refuse" ? ", or refused" : ""}`];
  const starts = rate === null ? [] : [shownRate({ ...rate, per: rate.per_ms })];
  return `${[...places, ...starts].join("; ")}, of each ${per}`;
}
