// A schedule that ticks every second, and its ticks as they are stored.
import { defineJob } from "fairmill";
import { expect } from "vitest";
import type { TestDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

export const quick = defineJob<object>({ kind: "quick" });
export const EVERY_SECOND = { cron: "* * * * * *", job: quick, input: {} } as const;

export function ticksOn(db: TestDatabase) {
  const ticksOf = (name: string) =>
    db.query<{ tick_at: Date; job_id: string | null }>(
      "select tick_at, job_id from fairmill.schedule_tick where schedule = $1 order by tick_at",
      [name],
    );
  const seen = (name: string, count: number) =>
    waitUntil(`${count} ticks of ${name}`, async () => (await ticksOf(name)).length >= count);

  /** Every second from the first tick to the last has one job, and there is no other job. */
  async function expectEachOnce(names: readonly string[]): Promise<void> {
    const all = (await Promise.all(names.map(ticksOf))).flatMap((ticks) => {
      const times = ticks.map(({ tick_at }) => tick_at.getTime());
      expect(times).toEqual(times.map((_, n) => times[0]! + n * 1000));
      return ticks.map(({ job_id }) => job_id);
    });
    expect(all).not.toContain(null);
    const [{ jobs }] = (await db.query<{ jobs: string[] }>(
      "select array(select id from fairmill.job union all select id from fairmill.job_history order by id) as jobs",
    )) as [{ jobs: string[] }];
    expect(jobs).toEqual(all.toSorted((a, b) => Number(a) - Number(b)));
  }

  return { ticksOf, seen, expectEachOnce };
}
