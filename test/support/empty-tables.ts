// Empties a database between tests, in one round trip: only tables that have rows are deleted from.
import type pg from "pg";

/** In an order that foreign keys allow. */
const TABLES = [
  ...[
    "job_log",
    "metric_sample",
    "fleet_sample",
    "worker_tick_metrics",
    "alert_event",
    "alert",
    "alert_silence",
    "alert_rule",
  ],
  ...[
    "outbox",
    "schedule",
    "schedule_tick",
    "step",
    "job",
    "job_history",
    "worker",
    "claim_list",
    "queue",
    "pause_exception",
  ],
  ...["idempotency", "unique_period", "limit_setting", "key_limit", "key_limit_report", "named_limit", "meter"],
  ...["credit_pending", "credit_entry", "account", "batch_hold", "batch_edge", "batch"],
  ...["child", "supervisor", "scale_decision", "pool", "audit_event", "bulk_action", "cache_entry", "tick_slot"],
  ...[
    "provider",
    "provider_need",
    "provider_share",
    "provider_event",
    "provider_minute",
    "provider_charge",
    "provider_cost",
    "retention_rule",
    "retention_walk",
    "tenant_erasure",
    "budget",
    "channel_end",
    "content",
  ],
];

/** Belong to the schema, not to what happens in it. */
const KEPT = ["migration", "schema_state", "alert_round"];

/** Makes `public.empty_tables()` in a migrated database. */
export async function installEmptying(db: Pick<pg.Client, "query">): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'fairmill'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const forgotten = rows.map(({ name }) => name).filter((name) => ![...TABLES, ...KEPT].includes(name));
  if (forgotten.length > 0)
    throw new Error(
      `Tests would see each other's rows: add ${forgotten.join(", ")} to TABLES in test/support/empty-tables.ts.`,
    );
  await db.query(`create function public.empty_tables() returns void language plpgsql as $$
begin
${TABLES.map((name) => `  if exists (select from fairmill.${name}) then delete from fairmill.${name}; end if;`).join("\n")}
end
$$`);
}
