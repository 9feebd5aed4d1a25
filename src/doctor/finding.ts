// What a look at a database comes to: findings, each with what is wrong, why that matters, and the SQL or setting that mends it.
import type { Clock } from "../base/clock.js";
import type { Database } from "../db/database.js";

/** error: something is lost, stands still or is open to others. warning: it will be, or it is slow. note: worth knowing. */
export type Level = "error" | "warning" | "note";

export interface Finding {
  /** The check that found it: "autovacuum". */
  readonly check: string;
  readonly level: Level;
  /** What is so. */
  readonly what: string;
  /** What follows from it. */
  readonly why: string;
  /** SQL to run, a command, or a setting to change. */
  readonly fix: string;
}

/** What a check finds, without its own name. */
export type Found = Omit<Finding, "check">;

/** What checks look at. */
export interface Patient {
  readonly db: Database;
  readonly clock: Clock;
  /** Read-only, in a bounded time. The word fairmill means the schema. */
  ask<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  readonly limits: DoctorLimits;
  /** What a stop of the configured worker may take; undefined: there is no config. */
  readonly stopMs: number | undefined;
  /** How long the platform waits before it kills; undefined: unknown. */
  readonly platformGraceMs: number | undefined;
}

export interface Check {
  readonly name: string;
  readonly look: (patient: Patient) => Promise<readonly Found[]>;
  /** Asks tables of the schema: left out where the schema is missing or older. */
  readonly needsSchema?: true;
}

export interface DoctorLimits {
  /** A transaction that is open for longer pins the vacuum horizon. */
  readonly transactionMsMax: number;
  readonly clockSkewMsMax: number;
  readonly deadTuplesMax: number;
  /** Of the connections that there may be. */
  readonly connectionsShareMax: number;
  /** A lease, a tick or a due job that is older shows that upkeep does not run. */
  readonly overdueMsMax: number;
}

export const DOCTOR_LIMITS: DoctorLimits = {
  transactionMsMax: 5 * 60_000,
  clockSkewMsMax: 2_000,
  deadTuplesMax: 100_000,
  connectionsShareMax: 0.8,
  overdueMsMax: 60_000,
};
