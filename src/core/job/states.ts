// The states of a job and the ways between them. The SQL checks, the diagram in the docs and the property tests come from this table.

export const LIVE_STATES = ["scheduled", "ready", "blocked", "running"] as const;
export const ENDED_STATES = ["done", "dead", "cancelled"] as const;
export const JOB_STATES = [...LIVE_STATES, ...ENDED_STATES] as const;

export type LiveState = (typeof LIVE_STATES)[number];
export type EndedState = (typeof ENDED_STATES)[number];
export type JobState = (typeof JOB_STATES)[number];

export const TRANSITIONS = {
  scheduled: ["ready", "blocked", "cancelled", "dead"],
  ready: ["running", "scheduled", "cancelled", "dead"],
  blocked: ["ready", "scheduled", "cancelled", "dead"],
  running: ["done", "dead", "cancelled", "scheduled", "ready"],
  done: [],
  dead: ["ready", "blocked"],
  cancelled: ["ready", "blocked"],
} as const satisfies Record<JobState, readonly JobState[]>;

export const isEnded = (state: JobState): state is EndedState => (ENDED_STATES as readonly string[]).includes(state);

export const mayBecome = (from: JobState, to: JobState): boolean =>
  (TRANSITIONS[from] as readonly JobState[]).includes(to);
