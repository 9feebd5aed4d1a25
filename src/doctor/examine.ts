// Looks at a database in every way that there is a check for. Reads only; each question has a few seconds; a check that cannot be made is a finding.
import type { Clock } from "../base/clock.js";
import type { Database } from "../db/database.js";
import { pendingMigrations } from "../db/migrate/migrate.js";
import { type Check, DOCTOR_LIMITS, type DoctorLimits, type Finding, type Found, type Patient } from "./finding.js";
import { FLEET_CHECKS } from "./fleet-checks.js";
import { LINE_CHECKS } from "./line-checks.js";
import { SERVER_CHECKS } from "./server-checks.js";
import { SESSION_CHECKS } from "./session-checks.js";
import { TABLE_CHECKS } from "./table-checks.js";

export interface DoctorOptions {
  readonly clock: Clock;
  readonly limits?: Partial<DoctorLimits>;
  readonly stopMs?: number | undefined;
  readonly platformGraceMs?: number | undefined;
}

/** For one question. */
const STATEMENT_MS_MAX = 5_000;

const CHECKS: readonly Check[] = [
  ...LINE_CHECKS,
  ...SERVER_CHECKS,
  ...TABLE_CHECKS,
  ...SESSION_CHECKS,
  ...FLEET_CHECKS,
];

/** Their names, in order. */
export const CHECK_NAMES: readonly string[] = ["schema", ...CHECKS.map(({ name }) => name)];

const ORDER = { error: 0, warning: 1, note: 2 } as const;

/** What is worst comes first. */
export async function examine(db: Database, options: DoctorOptions): Promise<Finding[]> {
  const patient: Patient = {
    db,
    clock: options.clock,
    limits: { ...DOCTOR_LIMITS, ...options.limits },
    stopMs: options.stopMs,
    platformGraceMs: options.platformGraceMs,
    ask: (text, values = []) => askReadOnly(db, text, values),
  };
  const schema = await lookAtSchema(db);
  const findings = schema.found.map((found) => ({ check: "schema", ...found }));
  for (const check of CHECKS) {
    if (check.needsSchema && !schema.isThere) continue;
    for (const found of await lookSafely(check, patient)) findings.push({ check: check.name, ...found });
  }
  return findings.toSorted((a, b) => ORDER[a.level] - ORDER[b.level]);
}

/** A server that cannot be reached is no finding but a failure: nothing could be looked at. */
async function lookAtSchema(db: Database): Promise<{ isThere: boolean; found: Found[] }> {
  const why = "The library works with the schema that its own SQL makes.";
  try {
    const pending = await pendingMigrations(db);
    if (pending.length === 0) return { isThere: true, found: [] };
    const isThere = !pending.some((name) => name.startsWith("migrations/"));
    return {
      isThere,
      found: [{ level: "error", what: whatIsPending(db.schema, pending), why, fix: "fairmill migrate" }],
    };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code !== "FAIRMILL_SCHEMA_DRIFTED" && code !== "FAIRMILL_SCHEMA_NEWER" && code !== "FAIRMILL_MIGRATION_CHANGED")
      throw error;
    const fix =
      code === "FAIRMILL_SCHEMA_NEWER"
        ? "Install the version of Fairmill that migrated it, or a newer one."
        : `Put it back as it was, as the message says; or say that it is right as it is: update ${db.schema}.schema_state set objects = null; then: fairmill migrate`;
    return {
      isThere: code === "FAIRMILL_SCHEMA_NEWER" || code === "FAIRMILL_SCHEMA_DRIFTED",
      found: [{ level: "error", what: message, why, fix }],
    };
  }
}

/** Without its first migration there is nothing of it yet: its hundreds of objects say no more. */
function whatIsPending(schema: string, pending: readonly string[]): string {
  if (pending.some((name) => name.startsWith("migrations/0001_"))) return `The schema "${schema}" is not made yet.`;
  const more = pending.length > 5 ? ` and ${pending.length - 5} more` : "";
  return `The schema "${schema}" lacks, or has otherwise: ${pending.slice(0, 5).join(", ")}${more}.`;
}

async function lookSafely(check: Check, patient: Patient): Promise<readonly Found[]> {
  try {
    return await check.look(patient);
  } catch (error) {
    const { message } = error as Error;
    return [
      {
        level: "warning",
        what: `The check "${check.name}" could not be made: ${message}.`,
        why: "What it would find is not known.",
        fix: "Run the doctor as a role that may read the catalog and the schema (the owner, or a member of pg_monitor).",
      },
    ];
  }
}

const askReadOnly = <Row>(db: Database, text: string, values: readonly unknown[]): Promise<Row[]> =>
  db.transaction(async (tx) => {
    await tx.query(`set transaction read only; set local statement_timeout = ${STATEMENT_MS_MAX}`);
    return (await tx.query(text, [...values])).rows as Row[];
  });
