// A message that may have arrived: what becomes of it, by what its receiver can do.
import { createClient, fixed, type SendContext } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { gate, untilAborted } from "../support/jobs.js";
import { deliveringOn, endOf, mail, receiver } from "./delivering.js";

const db = useDatabase();
const { startDelivering, delivered } = deliveringOn(db);

describe("a message that may have arrived", () => {
  const lost = () => {
    throw new Error("connection lost");
  };

  test("P5: goes out again with the same key where the receiver takes keys", async () => {
    const { calls, send } = receiver((_, n) => (n < 3 ? lost() : "ok"));
    const message = await delivered(mail({ receiver: "takes-key", send }));
    expect(message.status).toBe("sent");
    expect(message.attempts.map(({ outcome }) => outcome)).toEqual(["uncertain", "uncertain", "sent"]);
    expect(new Set(calls.map(({ key }) => key))).toEqual(new Set(["a"]));
  });

  test.each([
    ["arrived", 1],
    ["not-arrived", 2],
  ] as const)("is asked for where the receiver can be asked: %s means sent %s times", async (arrival, times) => {
    const { calls, send } = receiver((_, n) => (n === 1 ? lost() : "ok"));
    const asked: string[] = [];
    const ask = ({ idempotencyKey }: SendContext) => {
      asked.push(idempotencyKey);
      return arrival;
    };
    expect(await delivered(mail({ receiver: "can-be-asked", send, ask }))).toMatchObject({ status: "sent" });
    expect(asked).toEqual(["a"]);
    expect(calls).toHaveLength(times);
  });

  test("is asked for again while the receiver does not know, and ends as unknown when its attempts are used up", async () => {
    const { calls, send } = receiver(lost);
    let asked = 0;
    const ask = () => {
      asked++;
      if (asked === 1) throw new Error("not reached");
      return "unknown" as const;
    };
    const retry = { attempts: 4, backoff: fixed(0) };
    expect(await delivered(mail({ receiver: "can-be-asked", send, ask, retry }))).toMatchObject({ status: "unknown" });
    expect([calls.length, asked]).toEqual([1, 3]);
  });

  test("is not asked for while its request may still be on its way, and that spends no attempt", async () => {
    const { send } = receiver((_, n) => (n === 1 ? lost() : "ok"));
    let askedAt = 0;
    const ask = () => {
      askedAt = Date.now();
      return "arrived" as const;
    };
    const message = await delivered(mail({ receiver: "can-be-asked", send, ask, askAfter: 400 }));
    expect(askedAt - Date.parse(message.attempts[0]!.at)).toBeGreaterThanOrEqual(400);
    expect(message.job.attempt).toBe(2);
  });

  test("C8: is held where it can be neither: unknown at once, and sent no second time by a retry", async () => {
    const { calls, send } = receiver(lost);
    const channel = mail({ receiver: "neither", send });
    const message = await delivered(channel);
    expect(message).toMatchObject({ status: "unknown", attempts: [{ outcome: "uncertain" }] });
    expect(message.job).toMatchObject({ state: "dead", error: { code: "FAIRMILL_DELIVERY_UNKNOWN" } });
    await using client = createClient({ databaseUrl: db.url });
    expect(await client.retry(message.jobId!)).toBe("order_busy");
    expect(await client.dead.redrive({})).toMatchObject({ redriven: 0 });
    expect(calls).toHaveLength(1);
    await expect(client.jobs.rerun(message.jobId!)).rejects.toMatchObject({ code: "FAIRMILL_DELIVERY_JOB" });
    // The receiver was asked, and it had not arrived.
    expect(await client.outbox.resolve(message.id, "resend", { by: "ann" })).toBe("resolved");
    const again = receiver();
    await using _ = await startDelivering(mail({ receiver: "neither", send: again.send }));
    expect(await endOf(client, message.id)).toMatchObject({ status: "sent" });
    expect(again.calls).toMatchObject([{ key: "a", attempt: 3 }]);
    await expect(client.outbox.resolve("99999999", "sent")).rejects.toMatchObject({
      code: "FAIRMILL_MESSAGE_NOT_FOUND",
    });
  });

  test("where the policy says so a receiver that is neither gets it again", async () => {
    const { calls, send } = receiver((_, n) => (n === 1 ? lost() : "ok"));
    expect(await delivered(mail({ receiver: "neither", onUncertain: "resend", send }))).toMatchObject({
      status: "sent",
    });
    expect(calls).toHaveLength(2);
  });

  test("a time limit, a cancel and a shutdown in the middle leave it uncertain, not forgotten", async () => {
    const stuck = receiver(({ signal }) => untilAborted(signal));
    const timed = await delivered(mail({ receiver: "neither", send: stuck.send, timeout: 50 }), { abortGrace: 100 });
    expect(timed).toMatchObject({ status: "unknown" });
    expect(stuck.calls).toHaveLength(1);

    await using client = createClient({ databaseUrl: db.url });
    const begun = gate<void>();
    const channel = mail({
      receiver: "neither",
      send: (_, { signal }) => {
        begun.open();
        return untilAborted(signal);
      },
    });
    const { id } = await client.publish(channel, { text: "b" }, { idempotencyKey: "b" });
    const worker = await startDelivering(channel);
    await begun.promise;
    expect(await client.cancel((await client.outbox.get(id))!.jobId!)).toBe("requested");
    expect(await endOf(client, id)).toMatchObject({ status: "unknown" });
    await worker.stop();

    const other = gate<void>();
    const slow = mail({
      receiver: "takes-key",
      send: (_, { signal }) => {
        other.open();
        return untilAborted(signal);
      },
    });
    const third = await client.publish(slow, { text: "c" }, { idempotencyKey: "c" });
    const stopping = await startDelivering(slow);
    await other.promise;
    await stopping.stop({ grace: 0 });
    const left = (await client.outbox.get(third.id))!;
    expect(left).toMatchObject({ status: "sending", attempts: [{ outcome: "uncertain" }] });
    expect(await client.job(left.jobId!)).toMatchObject({ state: "ready" });
    await client.cancel(left.jobId!);
    expect(await client.outbox.get(third.id)).toMatchObject({ status: "unknown" });
  });
});
