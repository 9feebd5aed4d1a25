import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  ENDED_STATES,
  isEnded,
  JOB_STATES,
  type JobState,
  LIVE_STATES,
  mayBecome,
  TRANSITIONS,
} from "../../src/core/job/states.js";

const schema = await readFile(new URL("../../sql/migrations/0001_baseline.sql", import.meta.url), "utf8");

/** The text of a named CHECK constraint. */
function constraint(name: string): string {
  const found = new RegExp(`constraint ${name} check \\((.*?)\\)(?:,\\n|\\n\\)|;\\n)`, "s").exec(schema);
  if (!found) throw new Error(`No constraint ${name} in the schema.`);
  return found[1]!;
}

test("every state has its row, and every way leads to a state of the table", () => {
  expect(Object.keys(TRANSITIONS).sort()).toEqual([...JOB_STATES].sort());
  for (const ways of Object.values(TRANSITIONS)) {
    for (const to of ways) expect(JOB_STATES).toContain(to);
    expect(new Set(ways).size).toBe(ways.length);
  }
});

test("a state is live or ended, never both, and no job stays where it is", () => {
  expect(JOB_STATES.filter((state) => isEnded(state))).toEqual([...ENDED_STATES]);
  expect([...LIVE_STATES, ...ENDED_STATES]).toEqual([...JOB_STATES]);
  for (const state of JOB_STATES) expect(mayBecome(state, state)).toBe(false);
});

test("only a running job can be done, only a ready one can run, and done is the end for ever", () => {
  const from = (to: JobState) => JOB_STATES.filter((state) => mayBecome(state, to));
  expect(from("done")).toEqual(["running"]);
  expect(from("running")).toEqual(["ready"]);
  expect(TRANSITIONS.done).toEqual([]);
});

test("every live state can end, and every state but the first ones can be reached", () => {
  for (const state of LIVE_STATES) expect(TRANSITIONS[state].some((to) => isEnded(to))).toBe(true);
  const reached = new Set<JobState>(["scheduled", "ready", "blocked"]);
  for (const state of reached) for (const to of TRANSITIONS[state]) reached.add(to);
  expect([...reached].sort()).toEqual([...JOB_STATES].sort());
});

test("an ended job comes back to ready, or blocked where its key has no place, or not at all", () => {
  for (const state of ENDED_STATES) for (const to of TRANSITIONS[state]) expect(["ready", "blocked"]).toContain(to);
});

test("the table of live jobs accepts exactly the live states", () => {
  // The state follows from what else the row says: from `aside`, which is one of two, or from whether there is a worker.
  const check = constraint("job_fits");
  const following = [...check.matchAll(/(?:then|else) '(\w+)'/g), ...check.matchAll(/aside = '(\w+)'/g)];
  expect(following.map((match) => match[1]!).toSorted()).toEqual([...LIVE_STATES].sort());
});

test("the history accepts exactly the ended states", () => {
  const named = [...constraint("job_history_state_is_ended").matchAll(/'(\w+)'/g)].map((match) => match[1]);
  expect(named.toSorted()).toEqual([...ENDED_STATES].sort());
});
