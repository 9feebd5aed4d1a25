// The fault programme in short: it holds, and it notices when a guard is gone. `npm run chaos -- --minutes 60` is the long form.
import { describe, expect, test } from "vitest";
import { judgeOutbox, judgeRun, type Look } from "../../chaos/check.mjs";
import { runProgramme } from "../../chaos/programme.mjs";
import { newSeed } from "../support/dice.js";

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 10);
const DEADLINE_MS = 300_000 + SECONDS * 1_000;

test(
  "C10: four workers under a mixed load while processes are killed and stopped and connections are cut: nothing is broken",
  async () => {
    const seed = newSeed();
    const { figures, problems } = await runProgramme({
      seconds: SECONDS,
      seed,
      faults: ["kills", "pauses", "backends"],
      jobsPerSecond: 40,
    });
    expect(problems).toEqual([]);
    expect(figures.acknowledged).toBeGreaterThan(0);
    expect(figures.messages).toBeGreaterThan(0);
    expect(figures.ticks).toBeGreaterThan(0);
    expect(figures.looks).toBeGreaterThan(0);
  },
  DEADLINE_MS,
);

/** Ended jobs that are never written, messages that are gone once they were sent, and a cap that is lifted. */
const SABOTAGE = `
  create function public.forget_job() returns trigger language plpgsql as $$
  begin
    if new.id % 20 = 0 and new.batch is null and new.outbox is null then return null; end if;
    return new;
  end $$;
  create trigger forget before insert on fairmill.job_history for each row execute function public.forget_job();
  update fairmill.limit_setting set max_running = 50 where scope = 'tenant' and name = 't0';`;

test(
  "without its guards the same programme says what is broken",
  async () => {
    const { problems } = await runProgramme({
      seconds: 5,
      seed: 1,
      faults: [],
      jobsPerSecond: 60,
      sabotage: SABOTAGE,
    });
    const ids = new Set(problems.map((problem) => problem.slice(0, 2)));
    expect(problems.join("\n")).toContain("I1: acknowledged, and not there");
    expect([...ids]).toContain("P6");
  },
  DEADLINE_MS,
);

test("I4: a message of a done job that is not there, one that was never committed, and one key with two bodies are noticed", () => {
  const ended = [
    { id: "1", kind: "mail", state: "done" },
    { id: "2", kind: "keyed", state: "done" },
  ];
  const applied = new Map([["mail 1", { body: "{}", times: 1 }]]);
  const sent = [{ key: "mail 1", status: "sent" }];
  expect(judgeOutbox(sent, ended, { applied, changed: [] })).toEqual([]);
  expect(judgeOutbox([], ended, { applied, changed: ["mail 1"] })).toEqual([
    "I4: done, and its message is not there: mail 1",
    "I4: delivered, and never committed: mail 1",
    "I4: one key, two bodies: mail 1",
  ]);
  expect(judgeOutbox(sent, ended, { applied: new Map(), changed: [] })).toEqual(["P5: not delivered: mail 1 is sent"]);
});

describe("C10, of a run as a whole", () => {
  const tenants = new Set(Array.from({ length: 12 }, (_, n) => `t${n}`));
  const look = (change: Partial<Look> = {}): Look => ({ depth: 5, lockedMs: 1_000, duplicates: 0, ...change });
  const good = { looks: Array.from({ length: 40 }, () => look()), tenants, tickMs: 500, perSecond: 10, isCalm: true };

  test("holds", () => expect(judgeRun(good)).toEqual([]));

  test.each([
    ["a message that is in the outbox twice", { looks: [...good.looks, look({ duplicates: 1 })] }, /two deliveries/],
    ["a job that was locked for more than five minutes", { looks: [look({ lockedMs: 301_000 })] }, /locked for 301 s/],
    ["a queue that grows", { looks: good.looks.map((_, n) => look({ depth: n * 20 })) }, /the queue grows/],
    ["a tenant that was not served", { tenants: new Set([...tenants].slice(1)) }, /not served: t0/],
    ["ticks of more than 30 s on average", { tickMs: 30_001 }, /30001 ms on average/],
  ])("%s is noticed", (_, change, sentence) => {
    expect(judgeRun({ ...good, ...change })).toEqual([expect.stringMatching(sentence)]);
  });
});
