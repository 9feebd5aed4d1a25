// The list of locks and the headers of SQL functions: what the check finds, and that the headers of hot functions tell the truth.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const { readLockOrder, locksOf, lockFaults, takesLocks } = (await import("../../scripts/lock-order.mjs" as string)) as {
  readLockOrder: (page: string) => Map<number, string>;
  locksOf: (header: string) => string | undefined;
  lockFaults: (locks: string, order: Map<number, string>, functions: ReadonlyMap<string, unknown>) => string[];
  takesLocks: (body: string) => boolean;
};
const order = readLockOrder(await readFile(new URL("../../docs/explanation/lock-order.md", import.meta.url), "utf8"));
const functions = new Map([["finish_transitions", ""]]);
const faults = (locks: string) => lockFaults(locks, order, functions);

test("the list is numbered without a gap, and no name is there twice", () => {
  expect([...order.keys()]).toEqual(Array.from(order, (_, i) => i));
  expect(new Set(order.values()).size).toBe(order.size);
});

test.each([
  ["8 job, 10 message, then as finish_transitions", []],
  ["none", []],
  ["8 job, then 4 worker", ["4 worker comes after 8 job"]],
  ["9 job", ['"9 job" is not in the list']],
  ["8 jobs", ['"8 jobs" is not in the list']],
  ["99 moon", ['"99 moon" is not in the list']],
  ["as finish_everything", ["there is no function finish_everything"]],
  ["the rows", ["it names no lock of the list"]],
  ["9 step, then 8 job (against the order)", []],
])("%s", (locks, expected) => {
  expect(faults(locks)).toEqual(expected);
});

test("a header is read up to its first full stop, over several lines, without remarks", () => {
  expect(locksOf("-- What it does.\n-- Locks: 8 job (those that are free),\n-- 21 claim list. Then more.\n")).toBe(
    "8 job , 21 claim list",
  );
  expect(locksOf("-- What it does.\n")).toBeUndefined();
  expect(takesLocks("select 1 for update skip locked")).toBe(true);
  expect(takesLocks("select 1 -- for update")).toBe(false);
});

describe("the tables in which hot functions really lock rows are those of their headers", () => {
  const db = useDatabase();
  const TABLES: Record<string, string[]> = {
    job: ["job"],
    "claim list": ["claim_list"],
    message: ["outbox"],
    account: ["account"],
    "idempotency key": ["idempotency"],
    "limit meter": ["meter"],
    "key meter": ["meter"],
    "enqueue meter": ["meter"],
  };
  const ROW_LOCKS =
    "select distinct relation::regclass::text as name from pg_locks where pid = pg_backend_pid() and mode in ('RowShareLock', 'RowExclusiveLock') and relation::regclass::text ~ '^fairmill\\.[a-z_]+$' and exists (select from pg_class c where c.oid = relation and c.relkind = 'r')";

  test.each([
    [
      "claim_lanes_v1",
      "api/claim",
      "select fairmill.claim_lanes_v1('w', '{default}', '{0}', '{default}', '{0}', '{5}', null, 5)",
      [],
    ],
    ["grant_v1", "api/credits", "select * from fairmill.grant_v1('a', 5)", ["credit_entry", "credit_pending"]],
    ["cancel_v1", "api/operate", "select fairmill.cancel_v1((select min(id) from fairmill.job))", []],
  ])("%s", async (name, shelf, call, besides) => {
    await db.query("select fairmill.register_v1('w', '{default}', '1 hour')");
    await db.query("select fairmill.enqueue_v1('plain')");
    const [row] = await db.query<{ names: string[] | null }>(
      `with called as materialized (${call}) select (select count(*) from called) as n, array(select name from (${ROW_LOCKS}) l) as names`,
    );
    const text = await readFile(new URL(`../../sql/${shelf}/${name}.sql`, import.meta.url), "utf8");
    const said = [...order.values()].filter((lock) => new RegExp(`Locks:[^.]*\\d ${lock}\\b`, "s").test(text));
    const allowed = new Set([...said.flatMap((lock) => TABLES[lock] ?? []), ...besides, "job_history_rest"]);
    const locked = (row!.names ?? []).map((each) => each.replace("fairmill.", ""));
    expect(locked.filter((table) => !allowed.has(table) && !/^job_history_/.test(table))).toEqual([]);
    expect(locked.length).toBeGreaterThan(0);
  });
});
