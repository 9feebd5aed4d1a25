// Invariants of providers: limits hold for the whole fleet, there is one probe, and costs add up.
import type { Invariant } from "./invariant.js";

export const PROVIDER_INVARIANTS: readonly Invariant[] = [
  {
    id: "provider",
    sentence: "the workers that live have no more calls in flight at a provider than its limit allows, together",
    walk: "once",
    query: `select p.name as id from fairmill.provider p
      join fairmill.provider_share s on s.provider = p.name
      join fairmill.worker w on w.id = s.worker and w.state = 'alive' and w.lease_until > now()
      where p.in_flight is not null and $1::bigint is not null and $2::bigint is null
      group by p.name, p.in_flight, p.in_flight_before having sum(s.permits) > greatest(p.in_flight, p.in_flight_before)`,
  },
  {
    id: "provider",
    sentence: "while a probe of a provider is under way, the provider is closed to all other calls",
    walk: "once",
    query: `select p.name as id from fairmill.provider p
      where $1::bigint is not null and $2::bigint is null
        and p.breaker = 'half-open' and p.closed_until < p.probe_until`,
  },
  {
    id: "cost",
    sentence: "what calls cost on a day is the sum of the charges of that day, where all of them are still kept",
    walk: "once",
    query: `select s.day || ' ' || s.tenant || ' ' || s.provider as id
      from fairmill.provider_cost s
      left join lateral (select sum(c.cost) as cost, count(*) filter (where c.state <> 'void') as calls from fairmill.provider_charge c
        where c.day = s.day and c.tenant = s.tenant and c.provider = s.provider and c.kind = s.kind and c.currency = s.currency) c on true
      where $1::bigint is not null and $2::bigint is null and s.day >= (now() at time zone 'UTC')::date - 1
        and (s.cost <> coalesce(c.cost, 0) or s.calls <> coalesce(c.calls, 0))`,
  },
];
