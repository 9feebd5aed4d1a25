// Why a job does not run: what why_v1 says, as a value.
import type { JobState } from "../model/states.js";
import type { Database } from "./database.js";

/** The gates on a job's way, in the order in which they are told. */
export type WhyGateName =
  | "state"
  | "expired"
  | "released"
  | "scheduled"
  | "paused"
  | "tenant cap"
  | "queue cap"
  | "kind cap"
  | "rate"
  | "key"
  | "worker"
  | "turn";

/** One gate on the way of a job. */
export interface WhyGate {
  readonly gate: WhyGateName;
  /** False: this holds the job. */
  readonly passed: boolean;
  /** One sentence for people. */
  readonly reason: string;
  /** Facts for programs: names, limits, moments as ISO texts, the jobs that hold a place. */
  readonly detail: Readonly<Record<string, unknown>> | null;
}

/** Why a job does not run, or that it does. */
export interface Why {
  readonly id: string;
  readonly state: JobState;
  /** The sentence of the first gate that is not passed; of the last one where all are. */
  readonly reason: string;
  readonly gates: readonly WhyGate[];
}

export async function readWhy(db: Database, id: string): Promise<Why | undefined> {
  const rows = await db.query<WhyGate>("select gate, passed, reason, detail from fairmill.why_v1($1)", [id]);
  const gates = rows.map((row) => ({ ...row, detail: row.detail && (namesOfOurs(row.detail) as WhyGate["detail"]) }));
  const [first] = gates;
  if (first === undefined) return undefined;
  const holding = gates.find(({ passed }) => !passed) ?? gates.at(-1)!;
  return { id, state: first.detail!["state"] as JobState, reason: holding.reason, gates };
}

/** The database says `held_by`, this library `heldBy`. */
function namesOfOurs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(namesOfOurs);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      namesOfOurs(inner),
    ]),
  );
}
