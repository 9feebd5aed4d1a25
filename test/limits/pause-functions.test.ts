// A pause of a tenant, a queue or a kind, by SQL alone: nothing starts from its commit on, and what runs goes on.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claim, claimUnderLimits, fill, register, rescanNo, setLimits, settle } from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

describe("a pause", () => {
  test.each([
    ["tenant", "default"],
    ["queue", "default"],
    ["kind", "work"],
  ] as const)(
    "F5: of a %s starts nothing from its commit on; running jobs go on; resumed, all workers look again",
    async (scope, name) => {
      await fill(db, 4);
      await register(db, "sleeper");
      await db.query("select fairmill.listening_v1('sleeper', true)");
      const listener = await open();
      await listener.query("listen fairmill");
      const { jobs } = await claimUnderLimits(db, "w", undefined, 1);
      await setLimits(db, scope, name, { paused: true });
      expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
      expect((await claimUnderLimits(db, "w")).told!.limits).toEqual([
        { scope, name, why: "paused", open_in_ms: null },
      ]);
      expect(await claim(db, "sleeper", 10)).toEqual([]);
      expect(await settle(db, "w", jobs, "done")).toEqual({ accepted: 1, refused: [] });
      const marks = await rescanNo(db);
      listener.notified.length = 0;
      await setLimits(db, scope, name, { paused: false });
      expect(await rescanNo(db)).toBeGreaterThan(marks);
      await waitUntil("the sleeper is woken", () => listener.notified.includes("fairmill default"));
      expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(3);
    },
  );

  test("F5: wins over a claim that waits for the lock at this moment", async () => {
    await fill(db, 4);
    await setLimits(db, "tenant", "default", { max_running: 3 });
    const [pausing, claiming] = [await open(), await open()];
    await pausing.query("begin");
    await setLimits(pausing, "tenant", "default", { paused: true });
    const claimed = claimUnderLimits(claiming, "w");
    await waitUntilBlocked(db, claiming);
    await pausing.query("commit");
    expect((await claimed).jobs).toEqual([]);
  });

  test("keeps the other settings, and is one row that vanishes when it says nothing any more", async () => {
    await setLimits(db, "tenant", "t", { paused: true });
    await setLimits(db, "tenant", "t", { weight: 3 });
    await setLimits(db, "tenant", "t", { paused: false });
    expect(await db.query("select weight, paused_at from fairmill.limit_setting")).toEqual([
      { weight: 3, paused_at: null },
    ]);
    await setLimits(db, "tenant", "t", { weight: null });
    expect(await db.query("select from fairmill.limit_setting")).toEqual([]);
    expect(await errorCode(setLimits(db, "queue", "q", { weight: 2 }))).toBe("23514");
    expect(await errorCode(setLimits(db, "tenant", "t", { pause: true }))).toBe("FM001");
  });
});
