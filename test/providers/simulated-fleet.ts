// Worker processes that call a provider, on a clock that moves by itself from one event to the next: no machine is too slow for it. Each process has its
// desk, as workers have; they ask the real function of the database, which reads the same clock. How long a word takes, and how late a process
// comes to its times, is thrown by dice.
import { setImmediate } from "node:timers/promises";
import pg from "pg";
import type { Clock } from "../../src/base/clock.js";
import { Desk } from "../../src/providers/desk.js";
import type { ProviderSettings } from "../../src/providers/provider.js";
import type { SyncAnswer, SyncFacts } from "../../src/providers/provider-statements.js";
import type { Arrival } from "./simulator.js";

/** A clock that stands still until its next timer is due. */
export class EventClock {
  nowMs: number;
  readonly #timers: { readonly atMs: number; readonly then: () => void }[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  at(atMs: number, then: () => void): () => void {
    const timer = { atMs: Math.max(this.nowMs, atMs), then };
    const place = this.#timers.findIndex((one) => one.atMs > timer.atMs);
    this.#timers.splice(place < 0 ? this.#timers.length : place, 0, timer);
    return () => {
      const found = this.#timers.indexOf(timer);
      if (found >= 0) this.#timers.splice(found, 1);
    };
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.at(this.nowMs + ms, resolve));
  }

  /** Moves to the next timer and calls it; false: there is none until then. */
  next(untilMs: number): boolean {
    const [first] = this.#timers;
    if (first === undefined || first.atMs > untilMs) return false;
    this.#timers.shift();
    this.nowMs = first.atMs;
    first.then();
    return true;
  }
}

/** The function of the database on this clock, for sessions of this database that set `test.now_ms`. */
export async function simulateTime(query: (text: string) => Promise<unknown>): Promise<void> {
  const [row] = (await query("select pg_get_functiondef('fairmill.sync_provider_v1'::regproc) as text")) as {
    text: string;
  }[];
  const simulated = row!.text.replaceAll(
    "clock_timestamp()",
    "to_timestamp(current_setting('test.now_ms')::float8 / 1000)",
  );
  if (simulated === row!.text) throw new Error("sync_provider_v1 does not read the clock.");
  await query(simulated);
}

export interface FleetPlan {
  readonly url: string;
  readonly settings: ProviderSettings;
  /** By id: they are registered. */
  readonly workers: readonly string[];
  /** Calls that each of them has waiting or under way at any time. */
  readonly callsEach: number;
  readonly callMs: number;
  readonly seconds: number;
  /** How long a word is on its way, in one direction. */
  readonly wayMs: () => number;
  /** How late a timer of a process is. */
  readonly lateMs: () => number;
}

/** When calls reached the provider, and how many were under way then. */
export async function simulateFleet(plan: FleetPlan): Promise<Pick<Arrival, "at" | "running">[]> {
  const db = new pg.Client({ connectionString: plan.url });
  await db.connect();
  const clock = new EventClock(Date.now());
  const endMs = clock.nowMs + plan.seconds * 1_000;
  const arrivals: Pick<Arrival, "at" | "running">[] = [];
  const asking = new Set<Promise<unknown>>();
  const troubles: unknown[] = [];
  const desks = new Map<string, Desk>();
  let running = 0;

  // "!provider turn worker-1 pixian" is for one of them, any other word for all.
  const hear = async (payload: string): Promise<void> => {
    const [, what, worker] = payload.split(" ");
    await clock.pause(plan.wayMs());
    for (const [name, desk] of desks) if (what !== "turn" || name === worker) desk.heard();
  };
  db.on("notification", ({ payload = "" }) => void (payload.startsWith("!provider ") && hear(payload)));
  await db.query("listen fairmill");

  const ask = async (worker: string, facts: SyncFacts): Promise<SyncAnswer> => {
    await db.query("select set_config('test.now_ms', $1, false)", [clock.nowMs]);
    const { rows } = await db.query<{ answer: SyncAnswer }>("select fairmill.sync_provider_v1($1, $2, $3) as answer", [
      ...[plan.settings.name, worker, JSON.stringify(facts)],
    ]);
    return rows[0]!.answer;
  };
  const sync = async (worker: string, facts: SyncFacts): Promise<SyncAnswer> => {
    await clock.pause(plan.wayMs());
    const asked = ask(worker, facts);
    asking.add(asked);
    try {
      return await asked;
    } finally {
      asking.delete(asked);
      await clock.pause(plan.wayMs());
    }
  };
  const call = async (desk: Desk): Promise<void> => {
    while (clock.nowMs < endMs) {
      const grant = await desk.take(() => false);
      if (grant === undefined || "provider" in grant) throw new Error("The provider is closed.");
      arrivals.push({ at: clock.nowMs, running: ++running });
      await clock.pause(plan.callMs);
      running--;
      desk.end(grant, "ok", plan.callMs, undefined);
    }
  };
  for (const worker of plan.workers) {
    const own: Clock = {
      now: () => clock.nowMs,
      monotonic: () => clock.nowMs,
      random: () => 0.5,
      after: (ms, then) => clock.at(clock.nowMs + ms + plan.lateMs(), then),
    };
    const desk = new Desk(plan.settings, {
      clock: own,
      sync: (_, facts) => sync(worker, facts),
      trouble: (_, error) => troubles.push(error),
    });
    desks.set(worker, desk);
    for (let n = 0; n < plan.callsEach; n++) call(desk).catch((error: unknown) => troubles.push(error));
  }
  try {
    do {
      // Whatever this moment leads to has been said and answered before time goes on.
      while (asking.size > 0) await Promise.all(asking);
      await setImmediate();
      await setImmediate();
      if (troubles.length > 0) throw troubles[0];
    } while (asking.size > 0 || clock.next(endMs));
    return arrivals;
  } finally {
    await db.end();
  }
}
