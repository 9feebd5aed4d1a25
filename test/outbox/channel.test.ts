// What a channel may be told, and what it makes of it.
import { ConfigError, defineChannel, fixed, NonRetryableError, NotDeliveredError } from "fairmill";
import { expect, test } from "vitest";

const send = () => {};
const ask = () => "arrived" as const;

test("what becomes of a doubt follows from the receiver, unless it is said", () => {
  expect(defineChannel({ name: "a", receiver: "takes-key", send }).onUncertain).toBe("resend");
  expect(defineChannel({ name: "a", receiver: "can-be-asked", send, ask }).onUncertain).toBe("ask");
  expect(defineChannel({ name: "a", receiver: "neither", send }).onUncertain).toBe("review");
  expect(defineChannel({ name: "a", receiver: "takes-key", send, onUncertain: "review" }).onUncertain).toBe("review");
});

test("its delivery job has its name, a queue of its own, ten attempts and a minute, unless it is said", () => {
  const { definition, askAfterMs } = defineChannel({ name: "mail", receiver: "neither", send });
  expect(definition).toMatchObject({
    kind: "fairmill.deliver.mail",
    queue: "outbox",
    maxAttempts: 10,
    timeoutMs: 60_000,
    expireMs: undefined,
  });
  expect(askAfterMs).toBe(5_000);
  const other = defineChannel<{ to: string }>({
    name: "mail",
    receiver: "neither",
    send,
    queue: "mails",
    timeout: "5s",
    expire: "1h",
    retry: { backoff: fixed("1s") },
    key: ({ to }) => to,
    limits: { active: 1 },
  });
  expect(other.definition).toMatchObject({ queue: "mails", maxAttempts: 10, timeoutMs: 5_000, expireMs: 3_600_000 });
  expect(other.definition.limits).toMatchObject({ active: 1 });
});

test.each([
  ["receiver", { receiver: "perhaps" }],
  ["receiver", { receiver: "toString" }],
  ["send", { send: "mail" }],
  ["ask", { receiver: "can-be-asked" }],
  ["ask", { onUncertain: "ask" }],
  ["ask", { ask: true }],
  ["onUncertain", { onUncertain: "pray" }],
  ["askAfter", { askAfter: 10 }],
  ["channel", { name: "two words" }],
  ["channel", { name: "x".repeat(181) }],
  ["sendd", { sendd: send }],
])("%s: %j is refused", (setting, wrong) => {
  const define = () => defineChannel({ name: "a", receiver: "neither", send, ...wrong } as never);
  expect(define).toThrow(ConfigError);
  try {
    define();
  } catch (error) {
    expect((error as ConfigError).setting).toBe(setting);
  }
});

test("an error says of itself that the message was not delivered, and whether trying again may help", () => {
  expect(new NotDeliveredError("busy")).toMatchObject({
    delivered: false,
    retryable: true,
    code: "FAIRMILL_NOT_DELIVERED",
  });
  const cause = new Error("400");
  expect(new NotDeliveredError("no", { retryable: false, cause })).toMatchObject({ retryable: false, cause });
  // Trying again cannot help, but nothing says that it did not arrive.
  expect(new NonRetryableError("no")).not.toHaveProperty("delivered");
});
