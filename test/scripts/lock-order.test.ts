// The list of locks and the headers of SQL functions: what the check finds, and that the headers of hot functions tell the truth.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const { readLockOrder, locksOf, lockFaults, takesLocks, tablesLockedBy, bodyFaults, dynamicFaults } = (await import(
  "../../scripts/lock-order.mjs" as string
)) as {
  readLockOrder: (page: string) => Map<number, string>;
  locksOf: (header: string) => string | undefined;
  lockFaults: (locks: string, order: Map<number, string>, functions: ReadonlyMap<string, unknown>) => string[];
  takesLocks: (body: string) => boolean;
  tablesLockedBy: (body: string) => Set<string>;
  bodyFaults: (
    functions: ReadonlyMap<string, string>,
    headers: ReadonlyMap<string, string | undefined>,
    calls: ReadonlyMap<string, ReadonlySet<string>>,
    order: Map<number, string>,
  ) => [name: string, fault: string][];
  dynamicFaults: (
    functions: ReadonlyMap<string, string>,
    listed: Record<string, string[]>,
  ) => [name: string, fault: string][];
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

test("a function that makes statements while it runs is listed, and only such a function", () => {
  const made = (body: string, listed: Record<string, string[]>) => dynamicFaults(new Map([["f", body]]), listed);
  expect(made("execute format('drop table %I', name)", { f: [] })).toEqual([]);
  expect(made("for r in execute 'select 1' loop", {})).toEqual([["f", expect.stringContaining("does not list it")]]);
  expect(made("-- execute nothing", { f: [] })).toEqual([["f", expect.stringContaining("makes no statement")]]);
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

describe("what a body locks", () => {
  test.each([
    ["update fairmill.job j set state = 'ready' from fairmill.worker w", ["job"]],
    ["insert into fairmill.queue as q values (1) on conflict (name) do update set rescan_no = 1;", ["queue"]],
    [
      "insert into fairmill.job values (1); insert into fairmill.queue values (1) on conflict do update set x = 1",
      ["queue"],
    ],
    ["insert into fairmill.credit_entry values (1)", []],
    [
      "select x.id from fairmill.worker x where not exists (select from fairmill.claim_list h) for update skip locked",
      ["worker"],
    ],
    ["array(select b.id from fairmill.batch b for key share) || (select id from fairmill.job)", ["batch"]],
    ["-- update fairmill.job\nselect 1", []],
  ])("%s", (body, tables) => {
    expect([...tablesLockedBy(body)]).toEqual(tables);
  });

  const check = (outer: string | undefined, inner: string | undefined) =>
    bodyFaults(
      new Map([
        ["outer_v1", "perform fairmill.inner_part()"],
        ["inner_part", "update fairmill.job set state = 'ready'"],
      ]),
      new Map([
        ["outer_v1", outer],
        ["inner_part", inner],
      ]),
      new Map([
        ["outer_v1", new Set(["inner_part"])],
        ["inner_part", new Set<string>()],
      ]),
      order,
    ).map(([name]) => name);

  test("is in its header, and in the headers of its callers", () => {
    expect(check("8 job", "8 job")).toEqual([]);
    expect(check("as inner_part", "8 job")).toEqual([]);
    expect(check("4 worker", "8 job")).toEqual(["outer_v1"]);
    expect(check(undefined, "8 job")).toEqual(["outer_v1"]);
    expect(check("8 job", undefined)).toEqual(["inner_part"]);
    expect(check("8 job", "9 step")).toContain("inner_part");
  });

  test("may be what the caller has", () => {
    expect(check(undefined, "none: the caller has 8 job")).toEqual([]);
    expect(check("8 job", "none: the caller has 9 step")).toEqual(["inner_part"]);
  });
});
