// `fairmill tenants`: tenants that have jobs or settings.
import type { CommandGroup } from "../../cli/command.js";
import { erase, erasures } from "../../retention/command/erase-command.js";
import type { TenantOverview } from "../overview-statements.js";
import { limitsCommand, shownCount } from "./limits-command.js";

const limited = limitsCommand<TenantOverview>({
  scope: "tenant",
  summary: "tenants: list them with what waits and runs, show one, or set its weight and limits",
  lists: "Lists tenants that have settings, or jobs that are ready or running. Counts stop at a bound: 1000+.",
  examples: [["fairmill tenants", "what each has waiting and running, and its limits"]],
  examplesOfSet: [
    ["fairmill tenants set acme --weight 2 --max-running 20", "twice the service, 20 at once"],
    ["fairmill tenants set acme --rate 100/1m --rate-at enqueue", "more than 100 a minute are refused"],
    ["fairmill tenants set acme --no-rate", "no rate any more"],
  ],
  nothing:
    "No tenant has settings, or jobs that are ready or running. Limit one: fairmill tenants set acme --max-running 20",
  notFound: "has no settings, and no jobs that are ready or running.",
  part: (client) => client.tenants,
  nameOf: ({ tenant }) => tenant,
  columns: {
    WEIGHT: ({ weight }) => String(weight),
    READY: ({ ready }) => shownCount(ready),
    RUNNING: ({ running }) => shownCount(running),
  },
});

/** What is kept of a tenant is more than its limits. */
export const tenants: CommandGroup = { ...limited, verbs: [...limited.verbs, erase, erasures] };
