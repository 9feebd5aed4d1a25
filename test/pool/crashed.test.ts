// The verdict "crashed": the process that ran a job died, and its supervisor says so. Counted as recovery counts, fenced as every settle.
import { describe, expect, test } from "vitest";
import { running } from "../core/settle/settle-calls.js";
import { useDatabase } from "../support/database.js";
import {
  type Claimed,
  call,
  claim,
  claimLanes,
  ended,
  enqueue,
  live,
  recover,
  register,
  rescanNo,
  type Settled,
} from "../support/sql/calls.js";

const db = useDatabase();

const crash = async (
  worker: string,
  jobs: readonly Claimed[],
  crashesMax = 3,
  reason = "killed by SIGKILL",
): Promise<Settled> => {
  const [row] = await db.query<Settled & { admitted: unknown }>(
    "select accepted, refused from fairmill.settle_v1($1, $2, $3, $4, $5)",
    [
      worker,
      jobs.map(({ id }) => id),
      jobs.map(({ lease_no }) => lease_no),
      jobs.map(() => "crashed"),
      JSON.stringify(jobs.map(() => ({ reason, crashes_max: crashesMax }))),
    ],
  );
  return row!;
};

test("A7: is back at once, counted and recorded with the reason, the attempt spent", async () => {
  const job = await running(db, "w");
  const before = await rescanNo(db);
  expect(await crash("w", [job])).toEqual({ accepted: 1, refused: [] });
  const row = await live(db, job.id);
  expect(row).toMatchObject({ state: "ready", attempt: 1, crashes: 1, worker: null, started_at: null });
  expect(row!.failures).toMatchObject([
    {
      attempt: 1,
      worker: "w",
      outcome: "crashed",
      error: { code: "FAIRMILL_CHILD_LOST", message: "The process that ran this job died: killed by SIGKILL" },
    },
  ]);
  // Workers that keep floors look below the old id.
  expect(await rescanNo(db)).toBeGreaterThan(before);
});

test("after crashes_max of them it is poison", async () => {
  await enqueue(db, [{ kind: "work" }]);
  await register(db, "w");
  for (const times of [1, 2, 3]) {
    const [job] = await claim(db, "w");
    expect(await crash("w", [job!])).toEqual({ accepted: 1, refused: [] });
    if (times < 3) expect(await live(db, job!.id)).toMatchObject({ crashes: times });
    else {
      const row = await ended(db, job!.id);
      expect(row).toMatchObject({ state: "dead", crashes: 3, error: { code: "FAIRMILL_POISON" } });
      expect(row!.failures).toHaveLength(3);
      expect(row!.failures).toMatchObject(
        Array.from({ length: 3 }, () => ({ error: { code: "FAIRMILL_CHILD_LOST" } })),
      );
    }
  }
});

test("one that its caller asked to cancel ends as cancelled", async () => {
  const job = await running(db, "w");
  await call(db, "cancel_v1($1)", [job.id]);
  expect(await crash("w", [job])).toEqual({ accepted: 1, refused: [] });
  expect(await ended(db, job.id)).toMatchObject({ state: "cancelled", crashes: 1 });
});

describe("the fence", () => {
  test("a repeated call is accepted and counts once; so is one whose job ended by it", async () => {
    const job = await running(db, "w");
    await crash("w", [job]);
    expect(await crash("w", [job])).toEqual({ accepted: 1, refused: [] });
    expect(await live(db, job.id)).toMatchObject({ crashes: 1 });
    const [again] = await claim(db, "w");
    await crash("w", [again!], 2);
    expect(await crash("w", [again!], 2)).toEqual({ accepted: 1, refused: [] });
    expect(await ended(db, job.id)).toMatchObject({ state: "dead", crashes: 2 });
  });

  test("another worker's word, an old lease, and a job that recovery has given back are refused", async () => {
    const job = await running(db, "w");
    await register(db, "other");
    expect(await crash("other", [job])).toEqual({ accepted: 0, refused: [job.id] });
    expect(await live(db, job.id)).toMatchObject({ state: "running", crashes: 0 });
    await db.query("update fairmill.worker set lease_until = now() - interval '1 second' where id = 'w'");
    await recover(db);
    expect(await crash("w", [job])).toEqual({ accepted: 0, refused: [job.id] });
    expect(await live(db, job.id)).toMatchObject({ crashes: 1 });
    const [taken] = await claim(db, "other");
    expect(await crash("other", [job])).toEqual({ accepted: 0, refused: [job.id] });
    expect(taken!.lease_no).not.toBe(job.lease_no);
  });
});

test("in one group with other verdicts, each has its own", async () => {
  await enqueue(db, [{ kind: "work" }, { kind: "work" }, { kind: "work" }]);
  await register(db, "w");
  const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 3);
  expect(jobs.length).toBe(3);
  const [row] = await db.query<Settled>(
    "select accepted, refused from fairmill.settle_v1('w', $1, $2, '{done,crashed,release}', $3)",
    [
      jobs.map(({ id }) => id),
      jobs.map(({ lease_no }) => lease_no),
      JSON.stringify([{ result: 1 }, { reason: "hung", crashes_max: 3 }, null]),
    ],
  );
  expect(row).toEqual({ accepted: 3, refused: [] });
  expect(await ended(db, jobs[0]!.id)).toMatchObject({ state: "done" });
  expect(await live(db, jobs[1]!.id)).toMatchObject({ state: "ready", crashes: 1, attempt: 1 });
  expect(await live(db, jobs[2]!.id)).toMatchObject({ state: "ready", crashes: 0, attempt: 0 });
});
