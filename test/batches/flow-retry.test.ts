// A flow that is retried from a node on, or cancelled: by SQL alone.
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, claim, register, settle } from "../support/sql/calls.js";
import { batchOf, CALLBACKS, createFlow, liveKinds, nodesOf, stateOf } from "./batch-calls.js";
import { DIAMOND, flowCalls, node } from "./flow-calls.js";

const db = useDatabase();
const { drain } = flowCalls(db);

beforeEach(async () => {
  await register(db, "w");
});

describe("retry from a node", () => {
  const retry = async (flow: string, name: string | null = null) =>
    (await db.query("select * from fairmill.retry_flow_v1($1, $2)", [flow, name]))[0];

  test("that failed: it and what was skipped behind it run, the rest stays", async () => {
    const flow = await createFlow(db, [...DIAMOND, node("e", [3])], { callbacks: CALLBACKS });
    expect(await drain(["b"])).toEqual([["a"], ["b", "c"], ["death", "complete"]]);
    expect(await retry(flow)).toEqual({ answer: "started", nodes: 3 });
    expect(await drain()).toEqual([["b"], ["d"], ["e"], ["success"]]);
    expect(await batchOf(db, flow)).toMatchObject({ state: "succeeded", failed: 0 });
  });

  test("that succeeded, by name: it and everything behind it run again", async () => {
    const flow = await createFlow(db, DIAMOND);
    await drain();
    expect(await retry(flow, "c")).toEqual({ answer: "started", nodes: 2 });
    expect(await stateOf(db, flow)).toBe("pending");
    expect(await drain()).toEqual([["c"], ["d"]]);
  });

  test("nodes that were skipped elsewhere because the flow failed run, too", async () => {
    const flow = await createFlow(db, [node("a"), node("b"), node("c", [1])]);
    const jobs = await claim(db, "w", 2);
    await settle(db, "w", [jobs[0]!], "dead", [{ error: { message: "no" } }]);
    await settle(db, "w", [jobs[1]!], "done");
    expect(await nodesOf(db, flow)).toEqual(["a failed", "b succeeded", "c skipped"]);
    expect(await retry(flow)).toEqual({ answer: "started", nodes: 1 });
    expect(await drain()).toEqual([["a", "c"]]);
    expect(await stateOf(db, flow)).toBe("succeeded");
  });

  test("a flow inside is run again whole", async () => {
    const flow = await createFlow(db, [
      node("inner", [], { jobs: [] }),
      node("x", [], { inside: 0 }),
      node("y", [1], { inside: 0 }),
    ]);
    await drain(["y"]);
    expect(await retry(flow, "inner")).toEqual({ answer: "started", nodes: 1 });
    expect(await drain()).toEqual([["x"], ["y"]]);
    expect(await stateOf(db, flow)).toBe("succeeded");
  });

  test("what runs, what is not there and what did not fail is told", async () => {
    const flow = await createFlow(db, DIAMOND);
    expect(await retry(flow, "a")).toMatchObject({ answer: "running" });
    expect(await retry(flow)).toMatchObject({ answer: "nothing" });
    expect(await retry(flow, "zebra")).toMatchObject({ answer: "nothing" });
    expect(await retry("999999")).toMatchObject({ answer: "not_found" });
  });

  test("F6: a dead job that is retried by itself opens its node and what was skipped behind it", async () => {
    const flow = await createFlow(db, [node("a"), node("b", [0]), node("other"), node("late", [2])]);
    const jobs = await claim(db, "w", 2);
    await settle(db, "w", [jobs[0]!], "dead", [{ error: { message: "no" } }]);
    await settle(db, "w", [jobs[1]!], "done");
    expect(await nodesOf(db, flow)).toEqual(["a failed", "b skipped", "other succeeded", "late skipped"]);
    expect(await call(db, "retry_v1($1)", [jobs[0]!.id])).toBe("ready");
    expect(await nodesOf(db, flow)).toEqual(["a pending", "b waiting", "other succeeded", "late pending"]);
    await drain();
    expect(await batchOf(db, flow)).toMatchObject({ state: "succeeded", failed: 0 });
  });
});

describe("cancelling", () => {
  test("a flow: what waits never starts, what runs is told", async () => {
    const flow = await createFlow(db, DIAMOND, { callbacks: CALLBACKS });
    const [running] = await claim(db, "w", 1);
    await call(db, "cancel_batch_v1($1)", [flow]);
    await db.query("select fairmill.cancel_members_v1($1)", [flow]);
    expect(await nodesOf(db, flow)).toEqual(["a pending", "b cancelled", "c cancelled", "d cancelled"]);
    await settle(db, "w", [running!], "done");
    expect(await stateOf(db, flow)).toBe("cancelled");
    expect(await liveKinds(db)).toEqual(["complete"]);
  });

  test("a node that waits: those behind it are told", async () => {
    const flow = await createFlow(db, [
      node("a"),
      node("b", [0], { on_failure: "skip" }),
      node("c", [1]),
      node("d", [1], { when: "settled" }),
    ]);
    const [b] = await db.query<{ id: string }>("select id from fairmill.batch where name = 'b'");
    expect(await call(db, "cancel_batch_v1($1)", [b!.id])).toBe("cancelled");
    expect(await nodesOf(db, flow)).toEqual(["a pending", "b cancelled", "c skipped", "d pending"]);
    await drain();
    expect(await stateOf(db, flow)).toBe("succeeded");
  });
});
