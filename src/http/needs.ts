// What needs a person, for the first page: one statement for what lies in small tables, the queues that are read there anyway, and alerts that fire. Each is a
// sentence with its number. An alert that says the same as one of the others is not said twice.
import type { Backend } from "./backend.js";
import { patiently } from "./page.js";
import { type QueueOverview, scheduleErrorOf } from "./rooms.js";

export type Severity = "info" | "warning" | "critical";

export interface Need {
  readonly code: string;
  readonly severity: Severity;
  readonly subject: { readonly type: string; readonly name: string };
  readonly message: string;
  readonly since: Date | string | null;
  readonly count: number | null;
}

const RANKS = { critical: 0, warning: 1, info: 2 } as const;
const NEEDS_MAX = 50;
const LOOKED = 1_000;

/**
 * Codes with their subjects. A tick that is a minute late has been missed by every worker. A tenant starves that had jobs left to start three minutes ago and
 * has some now, while workers started jobs of others and none of its own.
 */
const SMALL_TABLES = `with newest as materialized (
    select s.kinds, s.tenants from fairmill.fleet_sample s where s.at > now() - interval '2 minutes' order by s.at desc limit 1),
  earlier as materialized (
    select s.tenants from fairmill.fleet_sample s where s.at between now() - interval '6 minutes' and now() - interval '3 minutes' order by s.at desc limit 1),
  starved as (
    select t.key as name, (t.value ->> 'runnable')::float8 as count
    from newest n cross join lateral jsonb_each(n.tenants) t
    join (select b.key from earlier e cross join lateral jsonb_each(e.tenants) b where (b.value ->> 'runnable')::float8 >= 1) before using (key)
    where t.key <> '' and (t.value ->> 'runnable')::float8 >= 1
      and exists (select from fairmill.worker_tick_metrics m where m.tick_started_at > now() - interval '4 minutes' and m.jobs_claimed > 0)
      and not exists (select from fairmill.worker_tick_metrics m where m.tick_started_at > now() - interval '4 minutes' and (m.tenants -> t.key ->> 'claimed')::float8 > 0))
  select 'outbox_unknown' as code, o.channel as name, count(*)::float8 as count, null::timestamptz as since, null::jsonb as error
  from (select x.channel from fairmill.outbox x where x.status = 'unknown' order by x.id limit ${LOOKED}) o group by o.channel
  union all
  select 'outbox_stuck', o.channel, null, min(o.created_at), null
  from unnest('{pending,sending}'::text[]) as s (status)
  cross join lateral (select x.channel, x.created_at from fairmill.outbox x where x.status = s.status order by x.id limit ${LOOKED}) o
  group by o.channel having min(o.created_at) < now() - interval '10 minutes'
  union all
  (select 'schedule_failing', s.name, null, s.updated_at, s.last_error from fairmill.schedule s where s.last_error is not null order by s.name limit ${NEEDS_MAX})
  union all
  (select 'schedule_overdue', s.name, null, s.next_at, null from fairmill.schedule s
  where s.paused_at is null and s.next_at < now() - interval '1 minute' order by s.next_at limit ${NEEDS_MAX})
  union all
  (select 'worker_lost', w.id, null, w.beat_at, null from fairmill.worker w
  where w.state = 'lost' and w.beat_at > now() - interval '1 hour' order by w.beat_at desc limit 10)
  union all
  (select 'breaker_open', p.name, null, p.breaker_at, null from fairmill.provider p where p.breaker <> 'closed' order by p.name limit ${NEEDS_MAX})
  union all
  select 'kind_without_workers', k.key, (k.value ->> 'no handler')::float8, null, null
  from newest n cross join lateral jsonb_each(n.kinds) k where k.key <> '' and (k.value ->> 'no handler')::float8 > 0
  union all
  (select 'tenant_starved', s.name, s.count, null, null from starved s order by s.count desc limit 10)`;

interface Row {
  readonly code: keyof typeof SENTENCES;
  readonly name: string;
  readonly count: number | null;
  readonly since: Date | null;
  readonly error: Parameters<typeof scheduleErrorOf>[0] | null;
}

const SENTENCES = {
  outbox_unknown: ["warning", "channel", (n) => `${many(n, "message")} may or may not have arrived: say which.`],
  outbox_stuck: ["warning", "channel", () => "The oldest open message waits for more than ten minutes."],
  schedule_failing: ["warning", "schedule", () => "Its last tick made no job."],
  schedule_overdue: ["critical", "schedule", () => "Its tick is overdue: no worker ticks schedules."],
  worker_lost: ["warning", "worker", () => "The worker stopped answering; its jobs went on elsewhere."],
  breaker_open: ["critical", "provider", () => "Its breaker is open: jobs that call it wait."],
  kind_without_workers: ["critical", "kind", (n) => `${waits(n)}, and no living worker knows this kind.`],
  tenant_starved: ["warning", "tenant", (n) => `${waits(n)}, and none has started for three minutes.`],
} as const satisfies Record<string, readonly [Severity, string, (count: number) => string]>;

/** Rules out of the box that look at what is read here. */
const SAME: Readonly<Record<string, string>> = {
  "outbox-unknown": "outbox_unknown",
  "queue-without-workers": "queue_without_workers",
  "schedule-overdue": "schedule_overdue",
};

const many = (count: number, noun: string, least = LOOKED) =>
  `${count >= least ? "At least " : ""}${Math.round(count).toLocaleString("en")} ${noun}${Math.round(count) === 1 ? "" : "s"}`;
const waits = (count: number, least = Number.POSITIVE_INFINITY) =>
  `${many(count, "job", least)} ${Math.round(count) === 1 ? "waits" : "wait"}`;

export async function readNeeds(
  http: Backend,
  queues: readonly QueueOverview[],
  dead: { readonly count: number; readonly more: boolean },
): Promise<Need[]> {
  const needs = [
    ...queues.flatMap(needOfQueue),
    ...(await patiently(() => http.lists.query<Row>(SMALL_TABLES), [])).map(needOfRow),
  ];
  for (const alert of (await http.alerts?.firing?.()) ?? []) add(needs, alert);
  if (dead.count > 0)
    needs.push({
      code: "jobs_died",
      severity: "info",
      subject: { type: "jobs", name: "dead" },
      message: `${many(dead.count, "job", dead.more ? dead.count : Number.POSITIVE_INFINITY)} died in the last 24 hours.`,
      since: null,
      count: dead.count,
    });
  return needs.toSorted((a, b) => RANKS[a.severity] - RANKS[b.severity]).slice(0, NEEDS_MAX);
}

function needOfQueue({ queue, ready, workers, pausedAt }: QueueOverview): Need[] {
  if (ready.count === 0 || (pausedAt === null && workers > 0)) return [];
  const shared = { subject: { type: "queue", name: queue }, count: ready.count };
  const waiting = waits(ready.count, ready.more ? ready.count : undefined);
  return pausedAt === null
    ? [
        {
          ...{ ...shared, code: "queue_without_workers", severity: "critical", since: null },
          message: `${waiting}, and no living worker serves this queue.`,
        },
      ]
    : [
        {
          ...{ ...shared, code: "paused_with_backlog", severity: "warning", since: pausedAt },
          message: `The queue is paused, and ${waiting} in it.`,
        },
      ];
}

function needOfRow({ code, name, count, since, error }: Row): Need {
  const [severity, type, sentence] = SENTENCES[code];
  const message = error === null ? sentence(count ?? 0) : scheduleErrorOf(error).message;
  return { code, severity, subject: { type, name }, message, since, count };
}

type Firing = Awaited<ReturnType<NonNullable<NonNullable<Backend["alerts"]>["firing"]>>>[number];

function add(needs: Need[], { rule, subject = "", severity, message, since }: Firing): void {
  const same = needs.findIndex(({ code, subject: { name } }) => code === SAME[rule] && ["", name].includes(subject));
  const known = needs[same];
  if (known === undefined)
    needs.push({ code: "alert_firing", severity, subject: { type: "alert", name: rule }, message, since, count: null });
  else
    needs[same] = {
      ...known,
      severity: RANKS[severity] < RANKS[known.severity] ? severity : known.severity,
      since: known.since ?? since,
    };
}
