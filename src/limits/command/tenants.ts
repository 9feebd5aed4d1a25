// `fairmill tenants`: who has jobs or settings, and `set`: weight and limits of one.
import type { TenantOverview } from "../overview-statements.js";
import { limitsCommand, shownCount } from "./limits-command.js";

export const tenants = limitsCommand<TenantOverview>({
  scope: "tenant",
  summary: "list tenants with their limits, or set those of one",
  description: `Lists tenants that have settings, or jobs that are ready or running. Counts stop at a bound: 1000+. With set, changes the weight and
the limits of one tenant; what is not named stays as it is.`,
  examples: [
    ["fairmill tenants", "who waits, who runs, who is limited"],
    ["fairmill tenants set acme --weight 2 --max-running 20", "twice the service, 20 at once"],
    ["fairmill tenants set acme --rate 100/1m --rate-at enqueue", "more than 100 a minute are refused"],
    ["fairmill tenants set acme --no-rate", "no rate any more"],
  ],
  nothing:
    "No tenant has settings, or jobs that are ready or running. Limit one: fairmill tenants set acme --max-running 20",
  list: (client, page) => client.tenants(page),
  set: (client, name, settings) => client.setTenant(name, settings),
  nameOf: ({ tenant }) => tenant,
  columns: {
    WEIGHT: ({ weight }) => String(weight),
    READY: ({ ready }) => shownCount(ready),
    RUNNING: ({ running }) => shownCount(running),
  },
});
