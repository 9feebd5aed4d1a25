// Why a job does not run, a node of a flow does not start, a message is not sent: what why_v1 and its sisters say, as values.
import type { JobState } from "../core/job/states.js";
import type { Session } from "../db/session.js";

/** The checks on a job's way, in the order in which they are reported. */
export type WhyCheckName =
  | "state"
  | "expired"
  | "released"
  | "credits"
  | "scheduled"
  | "paused"
  | "tenant cap"
  | "queue cap"
  | "kind cap"
  | "rate"
  | "limit"
  | "budget"
  | "provider"
  | "key"
  | "worker"
  | "turn"
  // Of a node.
  | "dependency"
  | "members"
  // Of a message.
  | "order";

/** One check on the way of a job. */
export interface WhyCheck {
  readonly check: WhyCheckName;
  /** False: this holds the job. */
  readonly passed: boolean;
  /** One sentence for people. */
  readonly reason: string;
  /** Facts for programs: names, limits, times as ISO texts, the jobs that hold a slot. */
  readonly detail: Readonly<Record<string, unknown>> | null;
}

/** A node of a flow, or a message of the outbox, by its id. */
export type WhyTarget = { readonly node: string } | { readonly message: string };

/** Why a job does not run, or that it does; the same of a node and of a message. */
export interface Why<State extends string = JobState> {
  readonly id: string;
  readonly state: State;
  /** The sentence of the first check that is not passed; of the last one where all are. */
  readonly reason: string;
  readonly checks: readonly WhyCheck[];
}

/** A text each: a statement is one constant. */
const QUESTIONS = {
  job: 'select check_name as "check", passed, reason, detail from fairmill.why_v1($1)',
  node: 'select check_name as "check", passed, reason, detail from fairmill.why_node_v1($1)',
  message: 'select check_name as "check", passed, reason, detail from fairmill.why_message_v1($1)',
} as const;

export async function readWhy<State extends string = JobState>(
  db: Session,
  what: keyof typeof QUESTIONS,
  id: string,
): Promise<Why<State> | undefined> {
  const rows = await db.query<WhyCheck>(QUESTIONS[what], [id]);
  const checks = rows.map((row) => ({ ...row, detail: row.detail && (namesOfOurs(row.detail) as WhyCheck["detail"]) }));
  const [first] = checks;
  if (first === undefined) return undefined;
  const holding = checks.find(({ passed }) => !passed) ?? checks.at(-1)!;
  return { id, state: first.detail!["state"] as State, reason: holding.reason, checks };
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
