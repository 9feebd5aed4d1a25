// How much of a provider's allowance a fleet uses under backlog, and that the provider never sees more, on simulated time: what holds here holds on any
// machine that is on time. What a real machine makes of it: `limits-fleet.test.ts`, and `npm run bench -- --only providers`.
import { beforeAll, expect, test } from "vitest";
import { defineProvider } from "../../src/providers/provider.js";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { type FleetPlan, simulateFleet, simulateTime } from "./simulated-fleet.js";
import { mostWithin } from "./simulator.js";

const database = useDatabase();
const WORKERS = Array.from({ length: 8 }, (_, n) => `worker-${n}`);
const LIMITS = { perSecond: 20, inFlight: 5 };
const SECONDS = 16;
const { settings } = defineProvider({ name: "pixian", limits: LIMITS });

beforeAll(() => simulateTime((text) => database.query(text)));

async function fleet(plan: Partial<FleetPlan> & Pick<FleetPlan, "lateMs" | "wayMs">) {
  const provider = {
    ...{ name: "pixian", per_second: LIMITS.perSecond, in_flight: LIMITS.inFlight, timeout_ms: 1000, currency: "USD" },
    ...{ breaker_rate: 0.5, breaker_calls: 4, breaker_window_ms: 60_000, breaker_open_ms: 60_000 },
  };
  await database.query("select fairmill.define_providers_v1($1)", [JSON.stringify([provider])]);
  for (const worker of WORKERS)
    await database.query("select fairmill.register_v1($1, queues => '{default}', kinds => '{call}')", [worker]);
  await database.query("update fairmill.worker set lease_until = now() + interval '1 hour'");
  const arrivals = await simulateFleet({
    ...{ url: database.url, settings, workers: WORKERS, callsEach: 5, callMs: 40, seconds: SECONDS },
    ...plan,
  });
  // The first second has no backlog yet.
  const fromMs = arrivals[0]!.at + 1_000;
  const counted = arrivals.filter(({ at }) => at >= fromMs && at < fromMs + (SECONDS - 2) * 1_000);
  return {
    used: counted.length / (LIMITS.perSecond * (SECONDS - 2)),
    most: mostWithin(arrivals, 1_000),
    inFlight: Math.max(...arrivals.map(({ running }) => running)),
  };
}

test("B19: eight processes that come to their times as timers do use 95 % of 20 calls a second and 5 in flight, and never more", async () => {
  const random = dice(newSeed());
  const { used, most, inFlight } = await fleet({ wayMs: () => 0.5 + 3 * random(), lateMs: () => 3 * random() });
  expect(most).toBeLessThanOrEqual(LIMITS.perSecond);
  expect(inFlight).toBeLessThanOrEqual(LIMITS.inFlight);
  expect(used).toBeGreaterThanOrEqual(0.95);
});

test("B19: calls that take so long that permits run short as well use 95 % of what five in flight can do", async () => {
  const random = dice(newSeed());
  const { most, inFlight, used } = await fleet({
    ...{ callMs: 500, wayMs: () => 0.5 + 3 * random(), lateMs: () => 3 * random() },
  });
  expect(most).toBeLessThanOrEqual(LIMITS.perSecond);
  expect(inFlight).toBe(LIMITS.inFlight);
  const possible = (LIMITS.inFlight * 1_000) / 500 / LIMITS.perSecond;
  expect(used).toBeGreaterThanOrEqual(0.95 * possible);
});

test("B19: processes that come late to their times, some of them far too late, never make the provider see more", async () => {
  const random = dice(newSeed());
  const lateMs = () => (random() < 0.05 ? 250 * random() : 10 * random());
  const { most, inFlight } = await fleet({ wayMs: () => 1 + 30 * random(), lateMs });
  expect(most).toBeLessThanOrEqual(LIMITS.perSecond);
  expect(inFlight).toBeLessThanOrEqual(LIMITS.inFlight);
});
