// `fairmill kinds`: which kinds have limits.
import type { CheckedLimits } from "../limit-settings.js";
import type { KindOverview } from "../overview-statements.js";
import { limitsCommand, shownRate } from "./limits-command.js";

export const kinds = limitsCommand<KindOverview>({
  scope: "kind",
  summary: "kinds of jobs: list them with their limits, show one, or set its limits",
  lists: "Lists kinds that have limits or that a living worker handles. BY DEFINITION is what the definition limits.",
  examples: [["fairmill kinds", "what is limited, by its definition or by set"]],
  examplesOfSet: [
    ["fairmill kinds set report.make --max-running 4", "four reports at once"],
    ["fairmill kinds set report.make --no-max-running", "no cap any more"],
  ],
  nothing: "No kind has limits, and no living worker handles one. Limit one: fairmill kinds set mail.send --rate 5/1s",
  notFound: "has no limits, and no living worker handles it.",
  part: (client) => client.kinds,
  nameOf: ({ kind }) => kind,
  columns: { "BY DEFINITION": ({ limits }) => (limits === null ? "" : shownLimits(limits)) },
});

/** "1 active, or refused; 5 per minute, of each key". */
function shownLimits({ per, active, whenActive, rate }: CheckedLimits): string {
  const slots = active === null ? [] : [`${active} active${whenActive === "refuse" ? ", or refused" : ""}`];
  const starts = rate === null ? [] : [shownRate({ ...rate, per: rate.perMs })];
  return `${[...slots, ...starts].join("; ")}, of each ${per}`;
}
