// Messages that handlers publish: stored with the settle of a run that returned, once, and with no other.
import { createClient, type JobContext, snooze } from "fairmill";
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { useDatabase } from "../../support/database.js";
import { effectsRig } from "./effects-rig.js";

const db = useDatabase();
const { ended } = effectsRig(db);

describe("ctx.publish", () => {
  const messages = () =>
    db.query(
      "select channel, tenant, idempotency_key as key, order_key, payload, status from fairmill.outbox order by id",
    );

  test("stores the message with the settle, under a key that belongs to the job and the call", async () => {
    const { id } = await ended(async (ctx) => {
      await ctx.publish("telegram", { text: `attempt ${ctx.attempt}` });
      await ctx.publish("telegram", { text: "named" }, { idempotencyKey: "mine", tenant: "other", orderKey: "chat" });
      if (ctx.attempt === 1) throw new Error("not yet");
    });
    expect(await messages()).toEqual([
      {
        channel: "telegram",
        tenant: "acme",
        key: `job-${id}-1`,
        order_key: null,
        payload: { text: "attempt 2" },
        status: "pending",
      },
      {
        channel: "telegram",
        tenant: "other",
        key: "mine",
        order_key: "chat",
        payload: { text: "named" },
        status: "pending",
      },
    ]);
  });

  test("a run that is settled later publishes the same message once", async () => {
    await ended(async (ctx) => {
      const run = claimsOf(ctx.leaseNo);
      await ctx.publish("telegram", { run });
      if (run === 1) return snooze(0);
    });
    expect(await messages()).toMatchObject([{ payload: { run: 1 } }]);
  });

  test("options and payloads that cannot be are refused", async () => {
    for (const run of [
      (ctx: JobContext) => ctx.publish("", {}),
      (ctx: JobContext) => ctx.publish("telegram", {}, { chat: 7 } as object),
      (ctx: JobContext) => ctx.publish("telegram", {}, { runAt: new Date(), delay: 1 }),
      (ctx: JobContext) => ctx.publish("telegram", {}, { idempotencyKey: "" }),
    ])
      expect((await ended(run)).failures[0]?.error?.code).toBe("FAIRMILL_CONFIG");
    expect((await ended((ctx) => ctx.publish("telegram", () => 1))).failures[0]?.error?.code).toBe(
      "FAIRMILL_INPUT_INVALID",
    );
    expect(await messages()).toEqual([]);
  });

  test("a limit of its channel that refuses at enqueue fails the attempt", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await client.kinds.set("fairmill.deliver.telegram", { rate: { limit: 1, per: "1h", at: "enqueue" } });
    const { state, failures } = await ended(async (ctx) => {
      await ctx.publish("telegram", { n: 1 });
      await ctx.publish("telegram", { n: 2 });
    });
    expect(state).toBe("dead");
    expect(failures[0]?.error?.code).toBe("FAIRMILL_RATE_LIMIT");
    expect(await messages()).toEqual([]);
  });
});
