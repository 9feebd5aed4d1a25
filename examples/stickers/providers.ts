// The services outside, as Fairmill knows them: their limits, breakers, prices and substitutes hold for all workers together. The limits can be looked at,
// and a service closed by hand, while everything runs: `fairmill providers`.
import { defineLimit, defineProvider } from "fairmill";

/** Short times, so that one sees a breaker open and close. Half a minute each is usual. */
const breaker = { failureRate: 0.5, minCalls: 8, window: "10s", openFor: "5s" } as const;

/** A smaller model draws while the first one cannot: more plainly, and for less. */
export const secondModel = defineProvider({
  name: "gemini-second",
  limits: { perSecond: 10, inFlight: 8 },
  timeout: "60s",
  breaker,
  cost: 0.039,
});

export const gemini = defineProvider({
  name: "gemini",
  limits: { perSecond: 20, inFlight: 12 },
  timeout: "60s",
  breaker,
  fallback: secondModel,
  cost: 0.134,
});

/** What the account may use in a minute, of both models. A job takes an estimate when it starts, and says afterwards what it was. */
export const geminiTokens = defineLimit("gemini-tokens", { tokens: 1_000_000, per: "1m" });
export const PICTURE_TOKENS = 1_400;

/** Cut out by ourselves, less finely: always there, and free. */
export const ownCutout = defineProvider({ name: "own-cutout", timeout: "60s" });

export const pixian = defineProvider({
  name: "pixian",
  limits: { perSecond: 20, inFlight: 5 },
  timeout: "60s",
  breaker,
  fallback: ownCutout,
  cost: 0.002,
});
