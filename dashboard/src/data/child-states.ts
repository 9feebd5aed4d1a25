// The life of a process of a pool, as the supervisor has it: test/dashboard/contract.test.ts compares the two tables.
export const CHILD_TRANSITIONS = {
  idle: ["ready", "failed", "terminated"],
  ready: ["working", "failed", "terminated"],
  working: ["ready", "failed"],
  failed: ["ready", "failed", "terminated"],
  terminated: [],
} as const;
export type ChildState = keyof typeof CHILD_TRANSITIONS;
export const CHILD_STATES = Object.keys(CHILD_TRANSITIONS) as ChildState[];
