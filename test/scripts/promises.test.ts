// The promises of the comparison with other queues: what is kept, what is missed, and what was not measured.
import { expect, test } from "vitest";

interface Verdict {
  readonly figure: string;
  readonly reached?: number;
  readonly isKept?: boolean;
}
type Figures = Map<string, Map<string, number>>;

const { judge } = (await import("../../bench/compare/promises.mjs" as string)) as {
  judge: (figures: Figures) => Verdict[];
};

function verdictOn(figure: string, values: Record<string, number>): Verdict | undefined {
  const figures = new Map([[figure, new Map(Object.entries(values))]]);
  return judge(figures).find((verdict) => verdict.figure === figure);
}

test("a ratio to raw SQL may miss its promise by a tenth, not by more", () => {
  const drain = (ours: number) => verdictOn("drain, 1 process, jobs/s", { Fairmill: ours, "raw SQL": 1000 });
  expect(drain(800)).toMatchObject({ reached: 0.8, isKept: true });
  expect(drain(721)).toMatchObject({ isKept: true });
  expect(drain(719)).toMatchObject({ isKept: false });
});

test("the best peer is the fastest of the others, never raw SQL", () => {
  const figure = "steady, old snapshot, last 5 s, jobs/s";
  const values = { "raw SQL": 99_000, "pg-boss": 500, "graphile-worker": 400 };
  expect(verdictOn(figure, { ...values, Fairmill: 1000 })).toMatchObject({ reached: 2, isKept: true });
  expect(verdictOn(figure, { ...values, Fairmill: 850 })).toMatchObject({ isKept: false });
});

test("an upper bound is missed by what lies above it", () => {
  const idle = (perSecond: number) => verdictOn("idle, four workers, statements/s", { Fairmill: perSecond });
  expect(idle(0.9)).toMatchObject({ isKept: true });
  expect(idle(1.2)).toMatchObject({ isKept: false });
});

test("a promise whose reference did not run is neither kept nor broken", () => {
  expect(verdictOn("100 callers at once, jobs/s", { Fairmill: 1000 })).not.toHaveProperty("isKept", false);
  expect(verdictOn("100 callers at once, jobs/s", { Fairmill: 1000 })).not.toHaveProperty("isKept", true);
});
