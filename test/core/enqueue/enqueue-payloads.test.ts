// enqueue_payloads_v1 against enqueue_many_v1: the short way stores what the long one stores, refuses what it refuses and wakes whom it wakes.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { dice, newSeed } from "../../support/dice.js";
import { type Asker, call, setLimits, setRule } from "../../support/sql/calls.js";
import { errorCode, useSessions } from "../../support/sql/sessions.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

interface Answer {
  readonly ids: readonly (string | null)[];
  readonly refusals: readonly Record<string, unknown>[] | null;
}

interface How {
  readonly wake?: boolean;
  readonly alone?: boolean;
  readonly partial?: boolean;
  /** One per job. */
  readonly tenants?: readonly string[];
}

const FLAGS = "wake => $3, alone => $4, partial => $5";
const flagsOf = ({ wake = true, alone = false, partial = false }: How) => [wake, alone, partial];

const shortWay = async (ask: Asker, payloads: readonly unknown[], shared: object, how: How = {}): Promise<Answer> => {
  const [row] = await ask.query<{ ids: string[]; refusals: Record<string, unknown>[] | null }>(
    `select ids::text[] as ids, refusals from fairmill.enqueue_payloads_v1($1, $2, ${FLAGS}, tenants => $6)`,
    [JSON.stringify(payloads), JSON.stringify(shared), ...flagsOf(how), how.tenants ?? null],
  );
  return row!;
};

const longWay = async (ask: Asker, payloads: readonly unknown[], shared: object, how: How = {}): Promise<Answer> => {
  const rows = await ask.query<{ id: string | null; refused: Record<string, unknown> | null }>(
    `select id, refused from fairmill.enqueue_many_v1($1, $2, ${FLAGS})`,
    [
      JSON.stringify(payloads.map((payload, n) => ({ payload, tenant: how.tenants?.[n] }))),
      JSON.stringify(shared),
      ...flagsOf(how),
    ],
  );
  const refusals = rows.flatMap(({ refused }) => (refused === null ? [] : [refused]));
  return { ids: rows.map(({ id }) => id), refusals: refusals.length === 0 ? null : refusals };
};

/** All there is to a job but its id, in the order of the ids. */
const jobs = (ask: Asker) => ask.query("select to_jsonb(j) - 'id' as job from fairmill.job j order by j.id");

/** Both ways inside one transaction, so that both have the same moment, each on an empty table. */
async function bothWays(payloads: readonly unknown[], shared: object, how: How = {}) {
  const session = await open();
  await session.query("begin");
  const seen = [];
  for (const way of [shortWay, longWay]) {
    await session.query("savepoint before");
    const answer = await way(session, payloads, shared, how);
    const order = await session.query<{ id: string }>("select id from fairmill.job order by id");
    // Who was not refused is there, and rows are made in the order given.
    expect(answer.ids.filter((id) => id !== null)).toEqual(order.map(({ id }) => id));
    seen.push({ refused: answer.ids.map((id) => id === null), refusals: answer.refusals, jobs: await jobs(session) });
    await session.query("rollback to savepoint before");
  }
  await session.query("rollback");
  return seen as [unknown, unknown];
}

const PAYLOADS = [
  {},
  null,
  7,
  "text",
  [],
  [[1], { a: null }],
  { kind: "limited", tenant: "other", payload: { deep: true }, priority: 5 },
  {
    run_at: "2030-01-01",
    batch: 1,
    outbox: 2,
    account: "a",
    idempotency_key: "k",
    unique_key: "u",
    state: "blocked",
    slot: 3,
  },
];

test("random jobs are the same rows by either way", async () => {
  const random = dice(newSeed());
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  for (let round = 0; round < 60; round++) {
    const fields = {
      kind: ["work", "mail.send"],
      tenant: ["acme", "b"],
      queue: ["mail", "q"],
      priority: [-1000, 0, 7, "3"],
      max_attempts: [1, 9],
      key: ["k", ""],
      run_at: ["2001-01-01T00:00:00Z", "2100-01-01T00:00:00Z"],
      delay_ms: [0, 0.5, 60_000, -5],
      expire_ms: [1000, 1e7],
    };
    const named = Object.entries(fields).filter(([name]) => name === "kind" || random() < 0.4);
    const shared = Object.fromEntries(named.map(([name, values]) => [name, pick<unknown>(values)]));
    const payloads = Array.from({ length: Math.floor(random() * 6) }, () => pick(PAYLOADS));
    const tenants = random() < 0.5 ? { tenants: payloads.map(() => pick(["acme", "c", 'odd "{}, \\ name'])) } : {};
    const how = { wake: random() < 0.5, alone: random() < 0.5, partial: random() < 0.5, ...tenants };
    const [short, long] = await bothWays(payloads, shared, how);
    expect(short, JSON.stringify({ payloads, shared, how })).toEqual(long);
  }
});

test("a member of the payload is never taken for a field of the job", async () => {
  await setRule(db, { per: "kind", max_running: 1, when_full: "refuse" });
  const [short, long] = await bothWays(PAYLOADS, { kind: "work" });
  expect(short).toEqual(long);
  expect((short as { jobs: { job: object }[] }).jobs.at(-1)!.job).toMatchObject({
    kind: "work",
    state: "ready",
    batch: null,
  });
});

test("as many tenants as payloads, or none", async () => {
  expect(await errorCode(shortWay(db, [1, 2], { kind: "work" }, { tenants: ["a"] }))).toBe("FM001");
  expect(await errorCode(shortWay(db, [1], { kind: "work" }, { tenants: ["a", "b"] }))).toBe("FM001");
  expect(await jobs(db)).toEqual([]);
});

describe("what limits say", () => {
  test("a rate at enqueue counts each tenant for itself", async () => {
    await setLimits(db, "tenant", "acme", { rate: { limit: 1, per_ms: 3_600_000, at: "enqueue" } });
    const tenants = ["b", "acme", "acme", "b"];
    const answer = await shortWay(db, [1, 2, 3, 4], { kind: "work" }, { alone: true, partial: true, tenants });
    expect(answer.ids.map((id) => id === null)).toEqual([false, false, true, false]);
  });

  test.each([
    ["none when one is refused", false, [true, true, true], 0],
    ["some when some may be", true, [false, false, true], 2],
  ])("a rate at enqueue lets in %s", async (_, partial, refused, count) => {
    await setLimits(db, "tenant", "acme", { rate: { limit: 2, per_ms: 3_600_000, at: "enqueue" } });
    const answer = await shortWay(db, [1, 2, 3], { kind: "work", tenant: "acme" }, { alone: true, partial });
    expect(answer.ids.map((id) => id === null)).toEqual(refused);
    expect(answer.refusals).toMatchObject([{ code: "FAIRMILL_RATE_LIMIT" }]);
    expect(await jobs(db)).toHaveLength(count);
  });

  test("the second of a kind that may have one job is refused", async () => {
    await setRule(db, { per: "kind", max_running: 1, when_full: "refuse" });
    const answer = await shortWay(db, [1, 2], { kind: "limited" }, { alone: true, partial: true });
    expect(answer).toMatchObject({ ids: [expect.any(String), null], refusals: [{ code: "FAIRMILL_ACTIVE_LIMIT" }] });
  });
});

test.each(["account", "batch", "unique_key", "tags", "payload"])(
  "jobs with %s are not taken this way",
  async (field) => {
    const error = await shortWay(db, [1], { kind: "work", [field]: "x" }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "FM001", hint: expect.stringContaining("enqueue_many_v1") });
  },
);

test.each(["{}", "null", '"text"', "7"])("%s is no array of payloads", async (payloads) => {
  expect(
    await errorCode(db.query('select * from fairmill.enqueue_payloads_v1($1, \'{"kind": "work"}\')', [payloads])),
  ).toBe("FM001");
});

describe("waking", () => {
  async function heardAfter(work: () => Promise<unknown>): Promise<string[]> {
    const session = await open();
    await session.query("listen fairmill");
    await work();
    await db.query("notify fairmill, 'mark'");
    await waitUntil("the mark", async () => {
      await session.query("select");
      return session.notified.includes("fairmill mark");
    });
    return session.notified.filter((heard) => heard !== "fairmill mark");
  }

  test.each<[string, number, object, How, RegExp[]]>([
    ["a job that is ready tells its queue", 2, { queue: "mail" }, {}, [/^fairmill mail$/]],
    ["one of a queue without a listener tells nothing", 2, { queue: "other" }, {}, []],
    ["one that is due soon tells when", 2, { queue: "mail", delay_ms: 5000 }, {}, [/^fairmill !due 5000$/]],
    ["one that is due later tells nothing", 2, { queue: "mail", delay_ms: 60_000 }, {}, []],
    ["no job tells nothing", 0, { queue: "mail" }, {}, []],
    ["the caller who wakes by itself says so, and nothing is sent", 2, { queue: "mail" }, { wake: false }, []],
  ])("%s", async (_, count, shared, how, expected) => {
    await db.query("select fairmill.register_v1('sleeper', '{mail}', '1 hour')");
    await call(db, "listening_v1('sleeper', true)");
    for (const way of [shortWay, longWay]) {
      const heard = await heardAfter(() => way(db, Array.from({ length: count }), { kind: "work", ...shared }, how));
      expect(heard).toEqual(expected.map((text) => expect.stringMatching(text)));
    }
  });
});
