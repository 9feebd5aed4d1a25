// The life of a child, as data: which state may follow which, and why. The database's check, the docs' picture and the code all obey this table.

/**
 * idle: its process was started and has not said ready. ready: it may be given jobs. working: it runs some. failed: its process died, or hung
 * and was killed; another one is started in its stead after a pause. terminated: it has ended for good.
 */
export const CHILD_TRANSITIONS = {
  idle: ["ready", "failed", "terminated"],
  ready: ["working", "failed", "terminated"],
  working: ["ready", "failed"],
  failed: ["ready", "failed", "terminated"],
  terminated: [],
} as const satisfies Record<string, readonly string[]>;

export type ChildState = keyof typeof CHILD_TRANSITIONS;

export const CHILD_STATES = Object.keys(CHILD_TRANSITIONS) as readonly ChildState[];

export const mayFollow = (from: ChildState, to: ChildState): boolean =>
  (CHILD_TRANSITIONS[from] as readonly ChildState[]).includes(to);

/** Why a process ended. What its supervisor wanted costs nothing; everything else is a failure, and counts for the jobs that it ran. */
export type ExitKind = "wanted" | "crash" | "out of memory" | "hung" | "unable";

export interface Exit {
  readonly kind: ExitKind;
  /** For people, and for the record of jobs. */
  readonly reason: string;
}

/** Node ends with this code, by SIGABRT, when its heap is full. */
const ABORTED = 134;

export interface ExitFacts {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why the supervisor ended it; undefined: it did not. */
  readonly ended?: Exit | undefined;
  /** The error that it said it dies of, or could not start for. */
  readonly said?: { readonly type: "dying" | "unable"; readonly message: string } | undefined;
}

export function judgeExit({ code, signal, ended, said }: ExitFacts): Exit {
  if (ended !== undefined) return ended;
  if (said?.type === "unable") return { kind: "unable", reason: `it could not start: ${said.message}` };
  if (said?.type === "dying") return { kind: "crash", reason: `unhandled error: ${said.message}` };
  if (signal === "SIGABRT" || code === ABORTED) return { kind: "out of memory", reason: "out of memory, or aborted" };
  if (signal !== null) return { kind: "crash", reason: `killed by ${signal}` };
  return { kind: "crash", reason: `exit code ${code}` };
}
