// Nodes of flows, and working until none is left.
import type { TestDatabase } from "../support/database.js";
import { type NodeSpec, work } from "./batch-calls.js";

export const node = (name: string, after: readonly number[] = [], more: Partial<NodeSpec> = {}): NodeSpec => ({
  name,
  after,
  jobs: [{ kind: name }],
  ...more,
});
export const DIAMOND = [node("a"), node("b", [0]), node("c", [0]), node("d", [1, 2])];

export function flowCalls(db: TestDatabase) {
  /** Works until nothing is left; returns the kinds in rounds. */
  async function drain(dead: readonly string[] = []): Promise<string[][]> {
    const rounds: string[][] = [];
    for (;;) {
      const kinds = await work(db, "w", ({ kind }) => (dead.includes(kind) ? "dead" : "done"));
      if (kinds.length === 0) return rounds;
      rounds.push(kinds);
    }
  }

  return { drain };
}
