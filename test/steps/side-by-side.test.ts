// Steps that run side by side: each is kept by its name, whichever ends first.
import { createClient, defineJob, fixed, handle, type JobContext } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { endOf, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { runOne } from "./step-runs.js";

const db = useDatabase();

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const sum = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);

describe("steps side by side", () => {
  test("are kept each by itself: what one of them failed at does not cost the others", async () => {
    const counts = new Map<string, number>();
    const { result } = await runOne(db, async (ctx) =>
      Promise.all(
        ["a", "b", "c"].map((name) =>
          ctx.step(name, async () => {
            sum(counts, name);
            if (name === "b" && ctx.attempt === 1) {
              await waitUntil("the others are kept", async () => (await steps(ctx.id)) === 2);
              throw new Error("not yet");
            }
            return name;
          }),
        ),
      ),
    );
    expect(result).toEqual(["a", "b", "c"]);
    expect(Object.fromEntries(counts)).toEqual({ a: 1, b: 2, c: 1 });
  });

  const steps = async (id: string) =>
    Number((await db.query<{ n: string }>("select count(*) as n from fairmill.step where job_id = $1", [id]))[0]!.n);

  test("branches of any speed that stop anywhere are never taken for changed code, and every step succeeds once, whatever fails beside it", async () => {
    const random = dice(newSeed());
    await using client = createClient({ databaseUrl: db.url });
    const many = defineJob<{ n: number }>({ kind: "branches", retry: { attempts: 200, backoff: fixed(0) } });
    const counts = new Map<string, number>();
    const run = async (ctx: JobContext<{ n: number }>) => {
      const one = (name: string) =>
        ctx.step(name, async () => {
          if (random() < 0.7) await later(random() * 6);
          if (random() < 0.2) throw new Error("not yet");
          sum(counts, `${ctx.input.n} ${name}`);
          return name;
        });
      const branch = async (name: string, length: number) => {
        for (let n = 0; n < length; n++) await one(`${name}${n}`);
      };
      await one("first");
      await Promise.all([branch("a", 4), branch("b", 2), branch("c", 6)]);
      await one("middle");
      await Promise.all([branch("d", 3), branch("e", 3)]);
      await one("last");
    };
    await using _ = await startWorker(db.url, [handle(many, run)], { concurrency: 20 });
    const jobs = await client.enqueueMany(
      many,
      Array.from({ length: 60 }, (_, n) => ({ input: { n } })),
    );
    for (const { id } of jobs) {
      const { state, error, failures } = await endOf(client, id, 60_000);
      expect({ state, error }).toEqual({ state: "done", error: null });
      expect(failures.map((failure) => failure.error?.message).filter((message) => message !== "not yet")).toEqual([]);
    }
    expect(counts.size).toBe(60 * 21);
    expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
  });
});
