// What comes in with a job is checked at every door, each of them for itself: the table does not do it.
import { describe, expect, test } from "vitest";
import { publish } from "../../outbox/outbox-calls.js";
import { useDatabase } from "../../support/database.js";
import { enqueue, enqueueUnique, type NewRow } from "../../support/sql/calls.js";
import { errorCode } from "../../support/sql/sessions.js";

const db = useDatabase();

const LONG = `${"ü".repeat(100)}x`;
const WRONG: readonly NewRow[] = [
  { kind: "" },
  { kind: LONG },
  { tenant: "" },
  { tenant: LONG },
  { queue: "" },
  { queue: LONG },
  { max_attempts: 0 },
  { payload: { text: "x".repeat(2 * 1024 * 1024) } },
];

const payloads = (list: readonly unknown[], shared: NewRow, tenants: readonly unknown[] | null = null) =>
  db.query("select * from fairmill.enqueue_payloads_v1($1, $2, tenants => $3)", [
    JSON.stringify(list),
    JSON.stringify({ kind: "k", ...shared }),
    tenants,
  ]);

/** One good job or message, and one with what is wrong. */
const DOORS: Readonly<Record<string, (wrong: NewRow) => Promise<unknown>>> = {
  "a job of a list": (wrong) => enqueue(db, [{ kind: "k" }, { kind: "k", ...wrong }]),
  "what a list has in common": ({ payload, ...wrong }) =>
    enqueue(db, [{ ...(payload !== undefined && { payload }) }], { kind: "k", ...wrong }),
  "a unique job": (wrong) => enqueueUnique(db, [{ kind: "k" }, { kind: "k", unique_key: "u", ...wrong }]),
  "what payloads have in common": ({ payload, ...wrong }) => payloads([{}, payload ?? {}], wrong),
};

describe.each(Object.keys(DOORS))("%s", (door) => {
  test.each(WRONG.map((wrong) => [JSON.stringify(wrong).slice(0, 30), wrong] as const))(
    "with %s is refused, and nothing is stored",
    async (_, wrong) => {
      expect(await errorCode(DOORS[door]!(wrong))).toBe("23514");
      expect(await db.query("select from fairmill.job")).toEqual([]);
    },
  );
});

test.each(["", LONG])("a tenant %j among those of payloads is refused, and nothing is stored", async (tenant) => {
  expect(await errorCode(payloads([{}, {}], {}, ["t", tenant]))).toBe("23514");
  expect(await db.query("select from fairmill.job")).toEqual([]);
});

test.each<[string, NewRow]>([
  ["23514", { channel: "c".repeat(190) }],
  ["23514", { tenant: LONG }],
  ["23514", { queue: "" }],
  ["23514", { queue: LONG }],
  ["23514", { max_attempts: 0 }],
  ["22003", { priority: 32_768 }],
])(
  "%s: a message behind another is refused when it is published, not when its turn has come: %j",
  async (code, wrong) => {
    await publish(db, [{ idempotency_key: "1", order_key: "o" }]);
    expect(await errorCode(publish(db, [{ idempotency_key: "2", order_key: "o", ...wrong }]))).toBe(code);
    expect(await db.query("select from fairmill.outbox")).toHaveLength(1);
  },
);

describe("the table refuses what no change of state may make", () => {
  test.each([
    "state = 'running'",
    "worker = 'w'",
    "started_at = now()",
    "worker = 'w', started_at = now()",
    "state = 'running', worker = 'w'",
    "state = 'running', worker = 'w', started_at = now(), aside = 'scheduled', run_at = now()",
    "state = 'scheduled', run_at = now()",
    "aside = 'scheduled', run_at = now()",
    "state = 'scheduled', aside = 'scheduled'",
    "state = 'scheduled', aside = 'scheduled', run_at = now(), worker = 'w', started_at = now()",
    "state = 'scheduled', aside = 'scheduled', run_at = now(), slot = 1",
    "state = 'blocked', aside = 'blocked'",
    "state = 'blocked', aside = 'blocked', limit_key = 'k', slot = 1",
    "state = 'blocked', aside = 'blocked', limit_key = 'k', worker = 'w', started_at = now()",
    "slot = 1",
    "state = 'done'",
    "state = 'done', aside = 'done', limit_key = 'k'",
    "attempt = 1",
    "crashes = 1, lease_no = 1",
    "unique_key = 'u'",
    "unique_until = 'settled'",
  ])("%s", async (change) => {
    await enqueue(db, [{ kind: "k" }]);
    expect(await errorCode(db.query(`update fairmill.job set ${change}`))).toBe("23514");
  });
});
