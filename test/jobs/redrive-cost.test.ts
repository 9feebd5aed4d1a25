// How much one call of redrive_v1 or preview_redrive_v1 looks at.
import { describe, expect, test } from "vitest";
import { all, draw, explainEverything, plansOf, readersOf, wayOf } from "../db/plans/plan-reader.js";
import { useDatabase } from "../support/database.js";
import { useSessions } from "../support/sql/sessions.js";
import { redriveCalls } from "./redrive-calls.js";

const db = useDatabase();
const { redrive, bury } = redriveCalls(db);
const open = useSessions(db);

describe("the work of one call", () => {
  test("with 100,000 dead jobs and a filter that fits none, it looks at ten thousand, by the index, and says where it stopped", async () => {
    await bury(100_000);
    // Those that succeeded are the many: they must not be read at all.
    await db.query(
      `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, worker)
       select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, 'done', 'default', 'default', 'work', now(), now(), '{}', 'w' from generate_series(1, 50000)`,
    );
    const session = await open();
    await explainEverything(session);
    const filters = [{ kind: "none" }, { error_text: "never said" }, { tenant: "none", ended_since: "2020-01-01" }];
    for (const filter of filters) {
      const plans = await plansOf(session, "select * from fairmill.redrive_v1($1)", [JSON.stringify(filter)]);
      const readers = readersOf(plans, "job_history");
      const drawing = plans.map(({ query, root }) => `${query}\n${draw(root)}`).join("\n");
      for (const node of readers)
        expect(wayOf(node), drawing).toMatch(/^job_history_\w+_(id_idx|pkey)$|^job_history_rest_age$/);
      expect(
        readers.reduce((sum, { rows, rowsInVain }) => sum + rows + rowsInVain, 0),
        drawing,
      ).toBeLessThanOrEqual(10_100);
      expect(Math.max(...plans.map(({ root }) => root.blocks)), drawing).toBeLessThan(12_000);
      expect(
        plans.flatMap(({ root }) => all(root)).some(({ type }) => /Sort/.test(type)),
        drawing,
      ).toBe(false);
    }
    const first = await redrive({ kind: "none" });
    expect(first).toMatchObject({ redriven: 0, seen: 10_000, more: true });
    expect(await redrive({ kind: "none" }, 500, first.last_id)).toMatchObject({
      redriven: 0,
      seen: 10_000,
      more: true,
    });

    // A batch that is full ends the look: nothing behind it is read.
    const plans = await plansOf(session, "select * from fairmill.redrive_v1('{}', 100)");
    expect(
      readersOf(plans, "job_history")
        .filter(({ index }) => /id_idx$/.test(index ?? ""))
        .reduce((sum, { rows }) => sum + rows, 0),
    ).toBeLessThanOrEqual(100 + 10);
  });

  test("days that the filter leaves out are not read", async () => {
    const now = Date.now();
    await bury(50, { endedAt: new Date(now).toISOString() });
    const later = new Date(now + 86_400_000).toISOString();
    const [tomorrow] = await bury(1, { endedAt: later });
    const filter = JSON.stringify({ ended_since: `${later.slice(0, 10)}T00:00:00Z` });
    const [row] = await db.query("select ids, seen from fairmill.pick_dead($1, 10, 100, 0)", [filter]);
    expect(row).toEqual({ ids: [tomorrow], seen: 1 });
  });
});
