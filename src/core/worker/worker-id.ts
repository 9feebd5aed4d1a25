// The name of a worker incarnation: host, process, start, and dice. Every process, and every new life of a process, has its own.
import { hostname } from "node:os";
import type { Clock } from "../../base/clock.js";

export function newWorkerId(facts: { host: string; pid: number; nowMs: number; random: number }): string {
  const host = facts.host.replace(/[^A-Za-z0-9.-]/g, "").slice(0, 60) || "host";
  const dice = Math.floor(facts.random * 36 ** 5)
    .toString(36)
    .padStart(5, "0");
  return `${host}-${facts.pid}-${Math.floor(facts.nowMs).toString(36)}-${dice}`;
}

/** The name of the present incarnation. */
export class WorkerIdentity {
  readonly #clock: Clock;
  #id: string;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#id = this.renew();
  }

  get id(): string {
    return this.#id;
  }

  renew(): string {
    const clock = this.#clock;
    this.#id = newWorkerId({ host: hostname(), pid: process.pid, nowMs: clock.now(), random: clock.random() });
    return this.#id;
  }
}
