// A group is settled by one statement that finds what belongs to a job by its place in the arrays. Whatever the order, the leases and the
// verdicts of a group are: what is written is what one settle for each of them would have written.
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { dice, newSeed } from "../../support/dice.js";
import { next } from "../../support/lease-no.js";
import { claim, ended, fill, live, register, settle, VERDICTS, type VerdictName } from "../../support/sql/calls.js";

const db = useDatabase();

interface Part {
  readonly id: string;
  readonly lease_no: string;
  readonly verdict: VerdictName;
  readonly detail: unknown;
  readonly isMine: boolean;
}

const detailOf = (verdict: VerdictName, n: number): unknown =>
  ({
    done: { result: { n } },
    dead: { outcome: "failed", error: { message: `no ${n}` } },
    cancelled: { outcome: "cancelled", error: { message: `left ${n}` } },
    retry: { outcome: "failed", error: { message: `again ${n}` }, delay_ms: 60_000 },
    snooze: { delay_ms: 60_000 },
    release: null,
  })[verdict];

const STATE: Record<VerdictName, string> = {
  done: "done",
  dead: "dead",
  cancelled: "cancelled",
  retry: "scheduled",
  snooze: "scheduled",
  release: "ready",
};

async function check(parts: readonly Part[]): Promise<void> {
  for (const { id, verdict, detail, isMine } of parts) {
    const row = (await live(db, id)) ?? (await ended(db, id));
    expect([id, row!.state]).toEqual([id, isMine ? STATE[verdict] : "running"]);
    const said = (isMine ? detail : null) as { result?: unknown; error?: unknown } | null;
    expect(row!["result"] ?? null).toEqual(said?.result ?? null);
    const error =
      verdict === "retry" ? (row!["failures"] as { error: unknown }[] | null)?.at(-1)?.error : row!["error"];
    expect(error ?? null).toEqual(said?.error ?? null);
  }
}

test("P3: every job of a group gets its own verdict, lease and detail, in whatever order they come", async () => {
  const random = dice(newSeed());
  const pick = <T>(...choices: T[]) => choices[Math.floor(random() * choices.length)]!;
  await register(db, "w");
  await register(db, "other");
  for (let round = 0; round < 60; round++) {
    await fill(db, 1 + Math.floor(random() * 12));
    // Some were claimed before, so that leases differ.
    const again = await claim(db, "w", 100);
    const released = again.filter(() => random() < 0.3);
    if (released.length > 0) await settle(db, "w", released, "release");
    const jobs = [...again.filter((job) => !released.includes(job)), ...(await claim(db, "w", 100))];
    const same = pick<VerdictName | undefined>(undefined, undefined, "done", "dead");
    const hasDetails = random() < 0.6;
    const parts = jobs.map(({ id, lease_no }, n): Part => {
      const verdict = same ?? pick(...VERDICTS);
      const isMine = random() < 0.9;
      return {
        id,
        lease_no: isMine ? lease_no : next(lease_no),
        verdict,
        isMine,
        detail: hasDetails ? detailOf(verdict, n) : null,
      };
    });
    const order = random() < 0.5 ? parts : parts.toSorted(() => random() - 0.5);
    const answer = await settle(
      db,
      "w",
      order,
      order.map(({ verdict }) => verdict),
      hasDetails ? order.map(({ detail }) => detail) : null,
    );
    expect(answer.accepted).toBe(parts.filter(({ isMine }) => isMine).length);
    expect(answer.refused.toSorted()).toEqual(
      parts
        .filter(({ isMine }) => !isMine)
        .map(({ id }) => id)
        .toSorted(),
    );
    await check(parts);
    await db.query("delete from fairmill.job");
  }
});

test("P3: what a list that is too short does not say is refused, and changes nothing", async () => {
  await register(db, "w");
  await fill(db, 3);
  const jobs = (await claim(db, "w", 3)).toSorted((a, b) => Number(a.id) - Number(b.id));
  const ids = jobs.map(({ id }) => id);
  const [first, second, third] = jobs.map(({ lease_no }) => lease_no) as [string, string, string];
  const call = async (leases: string[], verdicts: string[]) =>
    (
      await db.query<{ accepted: number; refused: string[] }>("select * from fairmill.settle_v1('w', $1, $2, $3)", [
        ids,
        leases,
        verdicts,
      ])
    )[0]!;
  expect(await call([first, second], ["done", "done", "done"])).toMatchObject({ accepted: 2, refused: [ids[2]] });
  expect(await call([first, second, third], ["done", "done"])).toMatchObject({ accepted: 2, refused: [ids[2]] });
  expect((await live(db, ids[2]!))!.state).toBe("running");
});
