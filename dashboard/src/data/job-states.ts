// The states of a job, as the server has them: test/dashboard/contract.test.ts compares the two lists.
export const LIVE_STATES = ["scheduled", "ready", "blocked", "running"] as const;
export const JOB_STATES = [...LIVE_STATES, "done", "dead", "cancelled"] as const;
export type JobState = (typeof JOB_STATES)[number];

export const isLive = (state: JobState): boolean => (LIVE_STATES as readonly JobState[]).includes(state);
