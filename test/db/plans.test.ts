// The plans of the hot statements, whatever the statistics say. A table that is empty at noon and full at one has wrong statistics
// for a while, and a queue that then reads itself from end to end never gets out of it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../support/database.js";
import { functionTexts } from "../support/sql/function-texts.js";
import { openSession, type Session } from "../support/sql/sessions.js";
import { BATCH_BOUNDS } from "./plans/batch-plans.js";
import type { Facts } from "./plans/plan-call.js";
import { CALLS } from "./plans/plan-calls.js";
import {
  all,
  draw,
  explainEverything,
  type Node,
  type Plan,
  plansOf,
  readersOf,
  runAndRollBack,
  type Table,
  wayOf,
} from "./plans/plan-reader.js";
import { fill, SCENARIOS } from "./plans/plan-scenarios.js";

/** The first column of each index: a scan that is not bounded by it walks along the whole index, which is a table scan by another name. */
const BOUND: Record<string, RegExp> = {
  job_pkey: /\bid\b/,
  // level_v1, inlined.
  job_lane: /hashtextextended\(queue\b.* (=|<|>=) /,
  job_scheduled: /\brun_at <=/,
  job_expiring: /\bexpire_at <=/,
  job_unique: /\btenant = .*\bkind = .*\bunique_key = /,
  job_slot: /\blimit_key (=|>=) /,
  job_blocked: /\blimit_key =/,
  job_rate_limited: /\blimit_key (=|>=) /,
  limit_setting_pkey: /\bname =/,
  limit_setting_at_start: /\bname =/,
  limit_setting_at_enqueue: /\bname =/,
  ...BATCH_BOUNDS,
};

/** Without what its subselects looked at: those are nodes of their own. */
const ownBlocks = ({ type, blocks, children }: Node) =>
  type === "Bitmap Heap Scan" ? blocks : blocks - children.reduce((sum, child) => sum + child.blocks, 0);

let serverVersion = 0;

function checkReads(plans: readonly Plan[], table: Table, walks: readonly string[] = []): void {
  for (const plan of plans) {
    const faults = readersOf([plan], table).flatMap((node) => faultsOf(node, table, walks));
    for (const join of all(plan.root).filter(({ type }) => /Hash Join|Merge Join/.test(type)))
      if (readersOf([{ query: plan.query, root: join }], table).length > 0) faults.push(`a ${join.type} of ${table}`);
    // The plan is drawn only where something is wrong: most of them are never looked at, and there are tens of thousands.
    if (faults.length > 0) expect.fail(`${faults.join("; ")}\n${plan.query}\n${draw(plan.root)}`);
  }
}

/** What is wrong with how this node reads the table. */
function faultsOf(node: Node, table: Table, walks: readonly string[]): string[] {
  const faults: string[] = [];
  const isWalk = walks.includes(node.index ?? "");
  if (/Seq Scan/.test(node.type)) faults.push(`a ${node.type} of ${table}`);
  const isBound = table === "job" || table === "limit_setting" || (node.index ?? "") in BATCH_BOUNDS;
  // One entry off the end of an index needs no bound.
  if (isBound && node.index && node.rows > 1 && !isWalk) {
    const bound = BOUND[node.index];
    if (!bound?.test(node.condition ?? "none"))
      faults.push(`${node.index} by ${node.condition ?? "no condition"} instead of ${bound}`);
  }
  if (!isWalk && node.rowsInVain > 200) faults.push(`${node.rowsInVain} rows of ${table} read in vain`);
  // A descent a loop and a block of the table a row; an index that is walked along shows here.
  // Before PostgreSQL 17 a list is a descent for each of its members, of which some calls here have 300.
  const descents = node.loops + (serverVersion < 170000 && / ANY /.test(node.condition ?? "") ? 300 : 0);
  const blocksMax = 8 * (node.rows + node.rowsInVain + descents + 10);
  // Other calls made a thousand settings of limits and took them back: their dead rows are still there.
  if (node.index && table !== "limit_setting" && ownBlocks(node) > blocksMax)
    faults.push(`${ownBlocks(node)} blocks read by ${node.index}, more than ${blocksMax}`);
  return faults;
}

const BATCH_TABLES = ["batch", "batch_edge", "batch_hold"] as const;
const OTHERS = [
  "job_history",
  "account",
  "credit_entry",
  "credit_pending",
  "outbox",
  "schedule",
  "schedule_tick",
  "limit_setting",
  ...BATCH_TABLES,
] as const satisfies readonly Table[];
const waysInto = (plans: readonly Plan[], table: Table) => [...new Set(readersOf(plans, table).map(wayOf))].toSorted();

describe.each(SCENARIOS)("$name", (scenario) => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let session: Session;
  let facts: Facts;

  beforeAll(async () => {
    database = await freshDatabase();
    session = await openSession(database.url);
    const [server] = await session.query<{ version: number }>(
      "select current_setting('server_version_num')::integer as version",
    );
    serverVersion = server!.version;
    // Autovacuum does not correct the statistics meanwhile.
    await session.query("alter table fairmill.job set (autovacuum_enabled = off)");
    for (const statement of scenario.before) await session.query(statement);
    await explainEverything(session);
    // A long-lived connection made its plans when the table was like this.
    const nothing: Facts = { ids: ["1"], leases: [1], placed: ["1"], ready: "1", blocked: "1", dead: "1", newest: "1" };
    await session.query(
      "insert into fairmill.worker (id, queues, lease_until) values ('w1', '{default}', now() + interval '1 day')",
    );
    await session.query("set auto_explain.log_min_duration = -1");
    for (const { statement, values, before } of Object.values(CALLS))
      await runAndRollBack(session, statement, values?.(nothing), before);
    await session.query("delete from fairmill.worker");
    await session.query(fill(scenario.tenants));
    if (scenario.after) await session.query(scenario.after);
    await session.query("set auto_explain.log_min_duration = 0");
    const running = await session.query<{ id: string }>(
      "select id from fairmill.job where worker = 'w3' order by id limit 50",
    );
    const placed = await session.query<{ id: string }>(
      "select id from fairmill.job where worker = 'w5' and slot is not null order by id limit 60",
    );
    const [some] = await session.query<{ ready: string; blocked: string; dead: string; newest: string }>(
      `select (select min(id) from fairmill.job where state = 'ready' and kind = 'work') as ready,
        (select min(id) from fairmill.job where state = 'blocked') as blocked,
        (select min(id) from fairmill.job_history where state = 'dead') as dead, (select max(id) from fairmill.job) as newest`,
    );
    facts = {
      ids: running.map(({ id }) => id),
      leases: running.map(() => 1),
      placed: placed.map(({ id }) => id),
      ...some!,
    };
  });
  afterAll(async () => {
    await session?.close();
    await database?.drop();
  });

  test.each(Object.keys(CALLS))("%s reads the job by the expected index and nothing in vain", async (name) => {
    const { statement, values, before, ways, walks, historyWays, batchWays } = CALLS[name]!;
    const plans = await plansOf(session, statement, values?.(facts), before);
    checkReads(plans, "job", walks);
    for (const table of OTHERS) checkReads(plans, table);
    if (batchWays)
      expect(
        BATCH_TABLES.flatMap((table) => waysInto(plans, table)),
        name,
      ).toEqual(batchWays);
    expect(waysInto(plans, "job")).toEqual(ways);
    const history = waysInto(plans, "job_history");
    expect(history.length > 0).toBe(historyWays !== undefined);
    const known =
      historyWays === "primary keys"
        ? /^job_history_(\d{8}|rest)_pkey$|^job_history_rest_age$|^Tid (Range )?Scan$/
        : /^job_history_(\d{8}|rest)_(pkey|id_idx1?)$|^job_history_rest_age$|^Tid Scan$/;
    expect(history.filter((way) => !known.test(way))).toEqual([]);
  });

  test("tick_upkeep_v1 with nothing due walks along no index to find that out", async () => {
    await session.query("select fairmill.tick_upkeep_v1()");
    const plans = await plansOf(session, "select * from fairmill.tick_upkeep_v1()");
    checkReads(plans, "job");
    checkReads(plans, "job_history");
    // 2,000 schedules, and the first of them is found by one look.
    checkReads(plans, "schedule");
    expect(readersOf(plans, "schedule")).toMatchObject([
      { index: "schedule_due", rows: 1 },
      { index: "schedule_moved", rows: 0 },
    ]);
    checkReads(plans, "outbox");
  });

  test.each([
    "meter_ctids with meters, known and new",
    "lock_meters with meters, known and new",
    "spend_key_rates with meters, known and new",
    "rates_at_enqueue among a thousand limits",
  ])("%s reads no meters but those it was asked for", async (name) => {
    const { statement, before } = CALLS[name]!;
    const plans = await plansOf(session, statement, [], before);
    const drawn = plans.map(({ root }) => draw(root)).join("\n");
    for (const { type, index, rows, rowsInVain } of readersOf(plans, "meter").filter(({ type }) => type !== "Insert")) {
      expect(type === "Tid Scan" || index === "meter_pkey", drawn).toBe(true);
      expect(rows, drawn).toBeLessThanOrEqual(40);
      expect(rowsInVain, drawn).toBe(0);
    }
  });

  test("settle_v1 deletes by the primary key, driven by the ids it was given", async () => {
    const { statement, values } = CALLS["settle_v1 of ends"]!;
    const plans = await plansOf(session, statement, values!(facts));
    const deleting = plans.find(({ query }) => query.includes("delete from"))!;
    expect(readersOf([deleting], "job")).toMatchObject([
      { type: "Index Scan", index: "job_pkey", loops: 1, rows: facts.ids.length, rowsInVain: 0 },
    ]);
    expect(all(deleting.root).some(({ type }) => /Nested Loop|Sort/.test(type))).toBe(false);
  });

  test("claim_lanes_v1 takes one range of job_lane per lane and then the rows by their ctid", async () => {
    const { statement, values } = CALLS["claim_lanes_v1"]!;
    const plans = await plansOf(session, statement, values!(facts));
    const choosing = plans.find(({ query }) => query.includes("skip locked"))!;
    const probe = readersOf([choosing], "job").find(({ index }) => index === "job_lane")!;
    expect(probe.condition).toMatch(
      /hashtextextended\(queue, .* = .*ROW\(tenant, COALESCE\(turn_no, id\)\) > .*tenant <= /,
    );
    expect(probe.loops).toBeLessThanOrEqual(90);
    expect(all(choosing.root).some(({ type }) => /Sort/.test(type))).toBe(false);
    const claiming = plans.find(({ query }) => query.includes("update fairmill.job"))!;
    expect(readersOf([claiming], "job")).toMatchObject([{ type: "Tid Scan", rows: 100, rowsInVain: 0 }]);
  });
});

test("every plan that a function's header expects is checked here", async () => {
  const names = [...(await functionTexts())]
    .filter(([, text]) => /^-- Plan expected:/m.test(text))
    .map(([name]) => name);
  expect(names.length).toBeGreaterThan(6);
  const checked = Object.keys(CALLS).map((name) => name.split(" ")[0]);
  expect(names.filter((name) => !checked.includes(name))).toEqual([]);
});
