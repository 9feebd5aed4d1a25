// Channels of a worker process that speak with a receiver of the test's: one that takes keys, one that can be asked, one that does neither.
import { defineChannel, fixed, NotDeliveredError } from "fairmill";

/** A refusal is certain only where the receiver says so itself. */
async function post(url, channel, message, { idempotencyKey, signal }) {
  const response = await fetch(`${url}/${channel}`, {
    method: "POST",
    headers: { "idempotency-key": idempotencyKey },
    body: JSON.stringify(message),
    signal,
  });
  const answer = await response.text();
  if (response.status === 503) throw new NotDeliveredError("busy");
  return { answer };
}

async function ask(url, channel, { idempotencyKey, signal }) {
  const response = await fetch(`${url}/${channel}/${idempotencyKey}`, { signal });
  return response.status === 200 ? "arrived" : "not-arrived";
}

/** `policies` changes what a channel does in doubt: for tests that show what would happen. */
export const channelsTo = (url, policies = {}) =>
  [
    ["keyed", "takes-key"],
    ["asked", "can-be-asked"],
    ["bare", "neither"],
  ].map(([name, receiver]) =>
    defineChannel({
      name,
      receiver,
      onUncertain: policies[name],
      send: (message, context) => post(url, name, message, context),
      ask: receiver === "can-be-asked" ? (context) => ask(url, name, context) : undefined,
      askAfter: "1s",
      timeout: "10s",
      retry: { attempts: 20, backoff: fixed("20ms") },
    }),
  );
