// Of the fleet: queues and kinds that no worker serves, workers of another version, upkeep and ticks that do not happen.
import { VERSION } from "../base/version.js";
import { qualify } from "../db/schema-name.js";
import type { Check } from "./finding.js";

const ALIVE = "w.state = 'alive' and w.lease_until > now()";

/** Queues in which a job is ready, and kinds of the first ready jobs of each. */
const UNSERVED = `with ready as (
    select l.queue, j.kind from fairmill.levels() l cross join lateral (
      select x.kind from fairmill.job x where x.aside is null and x.state = 'ready'
        and fairmill.level_v1(x.queue, x.priority) = fairmill.level_v1(l.queue, l.priority) and x.queue = l.queue limit 100) j)
  select r.queue, case when exists (select from fairmill.worker w where ${ALIVE} and r.queue = any (w.queues)) then r.kind end as kind
  from ready r
  where not exists (select from fairmill.worker w where ${ALIVE} and r.queue = any (w.queues) and (w.kinds is null or r.kind = any (w.kinds)))
  group by 1, 2 order by 1, 2 limit 20`;

const OTHERS = `select w.version, count(*)::integer as workers from fairmill.worker w
  where ${ALIVE} and w.version is distinct from $1 group by 1 order by 1 limit 10`;

const OVERDUE = `select
  (select count(*)::integer from fairmill.worker w where w.state = 'alive' and w.lease_until < now() - $1 * interval '1 millisecond') as leases,
  (select count(*)::integer from (select from fairmill.job j where j.aside = 'scheduled' and j.run_at < now() - $1 * interval '1 millisecond' limit 1000) due) as jobs`;

const TICKS = `select s.name, s.next_at, s.last_error ->> 'message' as error from fairmill.schedule s
  where s.paused_at is null and s.next_at < now() - $1 * interval '1 millisecond' order by s.next_at limit 10`;

export const FLEET_CHECKS: readonly Check[] = [
  {
    name: "unserved",
    needsSchema: true,
    look: async ({ ask }) =>
      (await ask<{ queue: string; kind: string | null }>(UNSERVED)).map(({ queue, kind }) =>
        kind === null
          ? {
              level: "error",
              what: `Jobs are ready in the queue ${JSON.stringify(queue)}, and no living worker serves it.`,
              why: "They wait for ever.",
              fix: `fairmill work --queue ${queue}, or name the queue in the config of a worker.`,
            }
          : {
              level: "error",
              what: `Jobs of kind ${JSON.stringify(kind)} are ready in the queue ${JSON.stringify(queue)}, and no worker of that queue has a handler for them.`,
              why: "They wait for ever.",
              fix: `Add handle(…) of "${kind}" to a worker that serves "${queue}", and deploy it.`,
            },
      ),
  },
  {
    name: "worker-versions",
    needsSchema: true,
    look: async ({ ask }) =>
      (await ask<{ version: string | null; workers: number }>(OTHERS, [VERSION])).map(({ version, workers }) => ({
        level: "warning",
        what: `${workers} living ${workers === 1 ? "worker runs" : "workers run"} Fairmill ${version ?? "of an unknown version"}; this is ${VERSION}.`,
        why: "Old and new work side by side, but what only the new one knows does not happen in the old one.",
        fix: `Deploy Fairmill ${VERSION} to all workers, or run the doctor of their version.`,
      })),
  },
  {
    name: "upkeep",
    needsSchema: true,
    look: async ({ ask, limits, db }) => {
      const [overdue] = await ask<{ leases: number; jobs: number }>(OVERDUE, [limits.overdueMsMax]);
      const { leases, jobs } = overdue!;
      if (leases + jobs === 0) return [];
      const said = [
        ...(leases > 0 ? [`${leases} ${leases === 1 ? "worker is" : "workers are"} dead and not declared lost`] : []),
        ...(jobs > 0
          ? [
              `${jobs >= 1_000 ? "at least 1000" : jobs} ${jobs === 1 ? "scheduled job is" : "scheduled jobs are"} overdue`,
            ]
          : []),
      ];
      return [
        {
          level: "error",
          what: `${said.join(", and ")}.`,
          why: "Upkeep does not run: jobs of dead workers are not taken over, delayed jobs do not start, nothing old is removed.",
          fix: qualify(
            "Start a worker, or call it by a database cron: select * from fairmill.tick_upkeep_v1();",
            db.schema,
          ),
        },
      ];
    },
  },
  {
    name: "schedules",
    needsSchema: true,
    look: async ({ ask, limits }) =>
      (await ask<{ name: string; next_at: Date; error: string | null }>(TICKS, [limits.overdueMsMax])).map(
        ({ name, next_at, error }) => ({
          level: "error",
          what: `The schedule ${JSON.stringify(name)} should have ticked at ${next_at.toISOString()}${error ? `; the last error: ${error}` : ""}.`,
          why: "Ticks are computed by workers: none is alive, or ticking this one fails.",
          fix: `Start a worker: fairmill work. Or stop the schedule: fairmill cron pause ${name}.`,
        }),
      ),
  },
];
