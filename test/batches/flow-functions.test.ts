// Flows by SQL alone: nodes start when those before them are over, in the transaction that ends the last of them.
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claim, ended, enqueue, enqueueOne, register, setRule, settle, tick } from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { batchOf, CALLBACKS, createFlow, liveKinds, nodesOf, openBatch, stateOf, work } from "./batch-calls.js";
import { DIAMOND, flowCalls, node } from "./flow-calls.js";

const db = useDatabase();
const { drain } = flowCalls(db);
const open = useSessions(db);

beforeEach(async () => {
  await register(db, "w");
});

describe("order", () => {
  test("E1: a node starts when all before it are over, and the flow is over with the last", async () => {
    const flow = await createFlow(db, DIAMOND, { callbacks: CALLBACKS });
    expect(await liveKinds(db)).toEqual(["a"]);
    expect(await drain()).toEqual([["a"], ["b", "c"], ["d"], ["success", "complete"]]);
    expect(await stateOf(db, flow)).toBe("succeeded");
    expect(await nodesOf(db, flow)).toEqual(["a succeeded", "b succeeded", "c succeeded", "d succeeded"]);
  });

  test("E1 E3: what a node's job adds belongs to the node: the next one waits for all of it", async () => {
    const flow = await createFlow(db, [node("a"), node("b", [0])]);
    const [job] = await claim(db, "w", 1);
    const [row] = await db.query<{ batch: string }>("select batch from fairmill.job where id = $1", [job!.id]);
    // One that a rate holds back for an hour: counted from the moment it is stored.
    await enqueue(db, [{ kind: "child", delay_ms: 3_600_000 }, { kind: "child" }], { batch: row!.batch });
    await settle(db, "w", [job!], "done");
    await work(db, "w");
    expect(await nodesOf(db, flow)).toEqual(["a pending", "b waiting"]);
    await db.query("update fairmill.job set run_at = now() where kind = 'child'");
    await tick(db);
    expect(await drain()).toEqual([["child"], ["b"]]);
  });

  test("two parents of one node end at the same time: it starts once", async () => {
    await createFlow(db, [node("a"), node("b"), node("c", [0, 1])]);
    const [a, b] = await claim(db, "w", 2);
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    await settle(one, "w", [a!], "done");
    const second = settle(two, "w", [b!], "done");
    await waitUntilBlocked(db, two);
    await one.query("commit");
    await second;
    expect(await liveKinds(db)).toEqual(["c"]);
  });

  test("a flow without nodes, and nodes without jobs, are over by themselves", async () => {
    const empty = await createFlow(db, [], { callbacks: CALLBACKS });
    const hollow = await createFlow(db, [node("a", [], { jobs: [] }), node("b", [0], { jobs: [] }), node("c", [1])]);
    await tick(db);
    expect(await stateOf(db, empty)).toBe("succeeded");
    expect(await nodesOf(db, hollow)).toEqual(["a succeeded", "b succeeded", "c pending"]);
    await drain();
    expect(await stateOf(db, hollow)).toBe("succeeded");
  });

  test("a node that waits for a later one, or for itself, cannot be written", async () => {
    expect(await errorCode(createFlow(db, [node("a", [0])]))).toBe("FM001");
    expect(await errorCode(createFlow(db, [node("a", [1]), node("b")]))).toBe("FM001");
    expect(await errorCode(createFlow(db, [node("a", [], { inside: 0 })]))).toBe("FM001");
    expect(await errorCode(createFlow(db, [node("a", [], { when: "failed" })]))).toBe("FM001");
    expect(await db.query("select from fairmill.batch")).toHaveLength(0);
  });

  test("several jobs in one node, and a thousand nodes behind one", async () => {
    const many = Array.from({ length: 1_000 }, (_, i) => node(`n${i}`, [0]));
    const flow = await createFlow(db, [
      node("a", [], { jobs: [{ kind: "x" }, { kind: "y" }] }),
      ...many,
      node(
        "z",
        many.map((_, i) => i + 1),
      ),
    ]);
    await work(db, "w");
    expect((await liveKinds(db)).length).toBe(1_000);
    const jobs = await claim(db, "w", 1_000, { tenantMax: 1_000 });
    await settle(db, "w", jobs, "done");
    expect(await liveKinds(db)).toEqual(["z"]);
    await drain();
    expect(await stateOf(db, flow)).toBe("succeeded");
  });
});

describe("when a node starts", () => {
  test("succeeded, settled, failed, after one that failed", async () => {
    const flow = await createFlow(db, [
      node("a", [], { on_failure: "skip" }),
      node("yes", [0]),
      node("always", [0], { when: "settled" }),
      node("rescue", [0], { when: "failed" }),
      node("behind", [1], { when: "settled" }),
    ]);
    expect(await drain(["a"])).toEqual([["a"], ["always", "rescue", "behind"]]);
    expect(await nodesOf(db, flow)).toEqual([
      "a failed",
      "yes skipped",
      "always succeeded",
      "rescue succeeded",
      "behind succeeded",
    ]);
    expect(await stateOf(db, flow)).toBe("succeeded");
  });

  test("a rescue is skipped where nothing failed", async () => {
    const flow = await createFlow(db, [
      node("a"),
      node("rescue", [0], { when: "failed" }),
      node("after", [1], { when: "settled" }),
    ]);
    expect(await drain()).toEqual([["a"], ["after"]]);
    expect(await nodesOf(db, flow)).toEqual(["a succeeded", "rescue skipped", "after succeeded"]);
  });
});

describe("what a failure does", () => {
  test("fail: nothing that waits for success starts any more, elsewhere neither; what runs ends; what waits for the end starts", async () => {
    const flow = await createFlow(
      db,
      [node("a"), node("b"), node("c", [1]), node("d", [0]), node("clean", [0, 2], { when: "settled" })],
      { callbacks: CALLBACKS },
    );
    expect(await drain(["a"])).toEqual([["a", "b"], ["death", "clean"], ["complete"]]);
    expect(await nodesOf(db, flow)).toEqual(["a failed", "b succeeded", "c skipped", "d skipped", "clean succeeded"]);
    expect(await batchOf(db, flow)).toMatchObject({ state: "failed", failed: 1 });
  });

  test("skip: only the branch behind it", async () => {
    const flow = await createFlow(db, [
      node("a", [], { on_failure: "skip" }),
      node("b"),
      node("c", [0]),
      node("d", [1]),
      node("e", [2, 3]),
    ]);
    expect(await drain(["a"])).toEqual([["a", "b"], ["d"]]);
    expect(await nodesOf(db, flow)).toEqual(["a failed", "b succeeded", "c skipped", "d succeeded", "e skipped"]);
    expect(await stateOf(db, flow)).toBe("succeeded");
  });

  test("continue: as if it had succeeded", async () => {
    const flow = await createFlow(db, [node("a", [], { on_failure: "continue" }), node("b", [0])]);
    expect(await drain(["a"])).toEqual([["a"], ["b"]]);
    expect(await stateOf(db, flow)).toBe("succeeded");
  });

  test("a job that a limit refuses when its turn comes is a failure of its node", async () => {
    await setRule(db, { max_running: 1, when_full: "refuse", per: "kind" });
    await enqueueOne(db, { kind: "limited" });
    const flow = await createFlow(db, [node("a"), node("b", [0], { jobs: [{ kind: "limited" }] }), node("c", [1])]);
    await settle(db, "w", await claim(db, "w", 1, { kinds: ["a"] }), "done");
    expect(await nodesOf(db, flow)).toEqual(["a succeeded", "b failed", "c skipped"]);
    const { own_job } = (
      await db.query<{ own_job: string }>("select own_job from fairmill.batch where name = 'b'")
    )[0]!;
    expect((await ended(db, own_job))!["error"]).toMatchObject({ code: "FAIRMILL_ACTIVE_LIMIT" });
  });
});

test("the first death in any node, also of a flow inside, is called back at once, and once", async () => {
  const nodes = [
    { name: "a", on_failure: "continue" as const, jobs: [{ kind: "dies" }, { kind: "dies" }] },
    { name: "in", after: [0] },
    { name: "x", inside: 1, jobs: [{ kind: "dies" }] },
  ];
  const flow = await createFlow(db, nodes, { callbacks: { death: { kind: "death" } } });
  const inside = await createFlow(db, [{ name: "o" }, { ...nodes[2]!, inside: 0 }], {
    callbacks: { death: { kind: "death" } },
  });
  const [one, two, three] = await claim(db, "w", 3);
  await settle(db, "w", [one!], "dead");
  expect(await liveKinds(db)).toEqual(["dies", "dies", "death"]);
  await settle(db, "w", [two!], "dead");
  await settle(db, "w", [three!], "dead");
  expect((await liveKinds(db)).toSorted()).toEqual(["death", "death", "dies"]);
  expect((await batchOf(db, flow)).death_job).not.toBeNull();
  expect((await batchOf(db, inside)).death_job).not.toBeNull();
  await work(db, "w", ({ kind }) => (kind === "dies" ? "dead" : "done"));
  expect(await liveKinds(db)).toEqual([]);
});

describe("flows inside flows", () => {
  const NESTED = [
    node("a"),
    node("inner", [0], { jobs: [] }),
    node("x", [], { inside: 1 }),
    node("y", [2], { inside: 1 }),
    node("b", [1]),
  ];
  test("the inner one starts with its node, and the node is over with it", async () => {
    const flow = await createFlow(db, NESTED);
    expect(await drain()).toEqual([["a"], ["x"], ["y"], ["b"]]);
    expect(await stateOf(db, flow)).toBe("succeeded");
  });

  test("a failure inside is the failure of the node around it", async () => {
    const flow = await createFlow(
      db,
      NESTED.map((one) => (one.name === "inner" ? { ...one, on_failure: "continue" as const } : one)),
    );
    expect(await drain(["x"])).toEqual([["a"], ["x"], ["b"]]);
    expect(await nodesOf(db, flow)).toEqual(["a succeeded", "inner failed", "x failed", "y skipped", "b succeeded"]);
    expect(await stateOf(db, flow)).toBe("succeeded");
  });

  test("a whole flow as a member of a batch", async () => {
    const outer = await openBatch(db, { callbacks: CALLBACKS }, [{ kind: "work" }]);
    const flow = await createFlow(db, [node("a"), node("b", [0])], { parent: outer.id });
    expect(await drain()).toEqual([["work", "a"], ["b"], ["success", "complete"]]);
    expect([await stateOf(db, flow), await stateOf(db, outer.id)]).toEqual(["succeeded", "succeeded"]);
  });
});
