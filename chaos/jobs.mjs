// The mixed load: kinds that end well, fail first, fail for good, cost credits, pay in steps, hold a key, settle in a transaction of their own.
import { defineJob } from "fairmill";

/** Every death of a process is an attempt: none of these may end because of the faults alone. */
const retry = { attempts: 1_000, backoff: () => 50 };

export const jobs = {
  mail: defineJob({ kind: "mail", retry }),
  /** Fails as often as its input says, then sends. */
  flaky: defineJob({ kind: "flaky", retry }),
  /** Is dead after its first run. */
  fatal: defineJob({ kind: "fatal", retry, credits: { account: ({ user }) => user, amount: 1 } }),
  paid: defineJob({ kind: "paid", retry, credits: { account: ({ user }) => user, amount: 2 } }),
  stepped: defineJob({ kind: "stepped", retry }),
  keyed: defineJob({ kind: "keyed", retry, key: ({ user }) => user, limits: { active: 1, whenActive: "wait" } }),
  booked: defineJob({ kind: "booked", retry }),
  page: defineJob({ kind: "page", retry }),
  bound: defineJob({ kind: "bound", retry }),
};

/** Jobs of these kinds are dead in the end, all others done. */
export const DEADLY = ["fatal"];
/** Jobs of these kinds send one message each. */
export const SENDING = ["mail", "flaky", "paid", "stepped", "bound"];
