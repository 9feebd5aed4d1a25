// The decisions of a delivery without a database: what each answer to begin and each end of a send comes to.
import { type ChannelOptions, defineChannel, NotDeliveredError, silentLogger } from "fairmill";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Claim } from "../../src/core/job/claim.js";
import type { Arrival, OnUncertain } from "../../src/outbox/channel.js";
import { Deliverer } from "../../src/outbox/deliverer.js";
import type { Begun } from "../../src/outbox/delivery.js";

const claim = { id: "1", leaseNo: 2, attempt: 1, tenant: "t", kind: "fairmill.deliver.mail" } as Claim;
const RECEIVERS = { resend: "takes-key", ask: "can-be-asked", review: "neither" } as const;

/** A clock that moves when it is told to, and an outbox that answers in turn. */
function rig(
  onUncertain: OnUncertain,
  answers: readonly Partial<Begun>[],
  options: Partial<ChannelOptions<undefined, object, object>> = {},
) {
  let nowMs = 0;
  const begins: [run: string, resend: boolean][] = [];
  const sent: string[] = [];
  const asked: string[] = [];
  const channel = defineChannel<object>({
    name: "mail",
    receiver: RECEIVERS[onUncertain],
    send: (_, { idempotencyKey }) => void sent.push(idempotencyKey),
    ask: ({ idempotencyKey }) => {
      asked.push(idempotencyKey);
      return "arrived";
    },
    ...options,
  });
  const keeper = {
    begin: async (_: Claim, run: string, resend: boolean): Promise<Begun> => {
      const answer = answers[Math.min(begins.length, answers.length - 1)]!;
      begins.push([run, resend]);
      const row = { messageId: "7", idempotencyKey: "a", payload: {}, tries: 1, sinceMs: 10_000 };
      return { ...row, answer: "send", askedAtMs: nowMs, ...answer };
    },
  };
  const clock = { now: () => 0, monotonic: () => nowMs, random: () => 0.5, after: () => () => {} };
  const deliverer = new Deliverer(channel, { keeper, clock, leaseMs: 15_000 });
  const aborting = new AbortController();
  return {
    begins,
    sent,
    asked,
    aborting,
    pass: (ms: number) => {
      nowMs += ms;
    },
    deliver: () => deliverer.deliver(claim, { signal: aborting.signal, log: silentLogger }, () => false),
  };
}

/** A schema that lets everything pass, and something happen. */
const schema = (happen: () => void) =>
  z.object({}).transform((value) => {
    happen();
    return value;
  }) as never;

test.each<[OnUncertain, boolean]>([
  ["resend", true],
  ["ask", false],
  ["review", false],
])("%s: begins with resend %s, under a text that no other run has", async (onUncertain, resend) => {
  const { begins, sent, deliver } = rig(onUncertain, [{}]);
  expect(await deliver()).toEqual({
    outcome: { type: "returned", value: undefined },
    details: { delivery: { outcome: "sent", answer: undefined } },
  });
  await deliver();
  expect(begins.map(([, again]) => again)).toEqual([resend, resend]);
  expect(new Set(begins.map(([run]) => run)).size).toBe(2);
  expect(sent).toEqual(["a", "a"]);
});

test("a lost lease and a message that has its end send nothing", async () => {
  const lost = rig("resend", [{ answer: "lost" }]);
  const delivered = await lost.deliver();
  expect(delivered.outcome).toMatchObject({ type: "threw", abortedBy: { code: "FAIRMILL_LEASE_LOST" } });
  const over = rig("resend", [{ answer: "over" }]);
  expect((await over.deliver()).details?.delivery).toBeUndefined();
  expect([...lost.sent, ...over.sent]).toEqual([]);
});

describe("in doubt", () => {
  test("review: nothing is sent, and trying again would not help", async () => {
    const { sent, deliver } = rig("review", [{ answer: "uncertain" }]);
    const { outcome, details } = await deliver();
    expect(outcome).toMatchObject({ type: "threw", error: { code: "FAIRMILL_DELIVERY_UNKNOWN", retryable: false } });
    expect(details?.delivery).toMatchObject({ outcome: "uncertain" });
    expect(sent).toEqual([]);
  });

  test("ask: not before its time, and then once more before it is sent", async () => {
    const early = rig("ask", [{ answer: "uncertain", sinceMs: 1_000 }]);
    expect((await early.deliver()).outcome).toMatchObject({ type: "returned", value: { delayMs: 4_001 } });
    expect(early.asked).toEqual([]);
    const late = rig("ask", [{ answer: "uncertain" }, { answer: "send" }], { ask: () => "not-arrived" as Arrival });
    expect((await late.deliver()).details?.delivery).toMatchObject({ outcome: "sent" });
    expect(late.begins.map(([, resend]) => resend)).toEqual([false, true]);
    expect(late.begins[0]![0]).toBe(late.begins[1]![0]);
  });

  test("ask: arrived is sent, and nothing goes out; what is not known, or fails, stays uncertain", async () => {
    const known = rig("ask", [{ answer: "uncertain" }]);
    expect((await known.deliver()).details?.delivery).toEqual({ outcome: "sent" });
    for (const ask of [() => "unknown" as Arrival, () => Promise.reject(new Error("away"))]) {
      const unknown = rig("ask", [{ answer: "uncertain" }], { ask });
      const { outcome, details } = await unknown.deliver();
      expect([outcome.type, details]).toEqual(["threw", undefined]);
    }
    expect(known.sent).toEqual([]);
  });
});

describe("what send throws", () => {
  const throwing = (error: unknown) => ({
    send: () => {
      throw error;
    },
  });
  test.each<[OnUncertain, unknown, string]>([
    ["review", new NotDeliveredError("busy"), "refused"],
    ["resend", { delivered: false }, "refused"],
    ["review", new Error("lost"), "uncertain"],
    ["resend", new Error("lost"), "uncertain"],
    ["ask", undefined, "uncertain"],
  ])("%s, %o: %s", async (onUncertain, error, outcome) => {
    const { deliver } = rig(onUncertain, [{}], throwing(error));
    expect((await deliver()).details?.delivery).toMatchObject({ outcome });
  });

  test("review: a doubt is never tried again, whatever it was; its cause is told", async () => {
    const { deliver } = rig("review", [{}], throwing(new Error("lost")));
    const { outcome } = await deliver();
    expect(outcome).toMatchObject({
      error: { retryable: false, cause: { message: "lost" }, code: "FAIRMILL_DELIVERY_UNKNOWN" },
    });
  });
});

describe("before it sends", () => {
  test.each<[OnUncertain, number, number]>([
    ["review", 5_001, 5_000],
    ["ask", 2_501, 2_500],
  ])("%s: an answer older than %s ms is asked for again, one of %s ms is not", async (onUncertain, oldMs, youngMs) => {
    for (const [ms, begins] of [
      [oldMs, 2],
      [youngMs, 1],
    ] as const) {
      // What lies between begin and send is the opening of the message. It takes long, once.
      const pauses = [ms];
      const slow = rig(onUncertain, [{}], { input: schema(() => slow.pass(pauses.pop() ?? 0)) });
      expect((await slow.deliver()).details?.delivery).toMatchObject({ outcome: "sent" });
      expect([slow.begins.length, slow.sent.length]).toEqual([begins, 1]);
    }
  });

  test("a process that is held up every time gives up before it has sent anything", async () => {
    const stuck = rig("review", [{}], { input: schema(() => stuck.pass(60_000)) });
    expect((await stuck.deliver()).details?.delivery).toMatchObject({ outcome: "refused" });
    expect([stuck.begins.length, stuck.sent.length]).toEqual([3, 0]);
  });

  test("a run that was told to stop sends nothing, and says so", async () => {
    const { sent, aborting, deliver } = rig("review", [{}]);
    aborting.abort(new Error("stop"));
    expect(await deliver()).toMatchObject({
      details: { delivery: { outcome: "refused" } },
      outcome: { error: { message: "stop" } },
    });
    expect(sent).toEqual([]);
  });

  test("a message that cannot be opened here is refused for now: another worker may have the key", async () => {
    const { sent, deliver } = rig("review", [{ payload: { "fairmill:sealed": 1, kid: "k" } }]);
    expect(await deliver()).toMatchObject({
      details: { delivery: { outcome: "refused" } },
      outcome: { type: "unopened" },
    });
    expect(sent).toEqual([]);
  });
});
