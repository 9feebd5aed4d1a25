// How much of what there is was used while a crowd was served: the services' allowances, the workers' capacity, the machine. The fullest is the bottleneck.
import { cpus } from "node:os";
import type { Parts } from "../parts.js";
import { gemini, pixian } from "../providers.js";
import type { Simulation } from "../run/simulation.js";
import type { SimulatedService } from "../simulators/service.js";

export interface UsageRow {
  readonly name: string;
  /** From 0 to 1. */
  readonly used: number;
}

/** As in `fairmill.config.ts` and `limitTelegram`. */
const CONCURRENCY = 6;
const OUTBOX_PER_SECOND = 20;

export class Usage {
  readonly #parts: Parts;
  readonly #simulation: Simulation;
  readonly #children: number;
  readonly #running: number[] = [];
  readonly #cpuBefore = cpuTimes();

  constructor(parts: Parts, simulation: Simulation, children: number) {
    this.#parts = parts;
    this.#simulation = simulation;
    this.#children = children;
  }

  async look(): Promise<void> {
    this.#running.push((await this.#parts.client.queues.get("stickers"))?.running?.count ?? 0);
  }

  /** Between two times of `Date.now()`. */
  rows(fromMs: number, toMs: number): UsageRow[] {
    const seconds = Math.max(1, (toMs - fromMs) / 1_000);
    const perSecond = (service: SimulatedService | undefined, route = "") =>
      (service?.log.filter((call) => call.route.includes(route) && call.at >= fromMs && call.at <= toMs).length ?? 0) /
      seconds;
    const inFlight = (service: SimulatedService | undefined) =>
      (perSecond(service) * (service?.weather.latencyMs.reduce((sum, ms) => sum + ms, 0) ?? 0)) / 2_000;
    const { gemini: model, pixian: remover, telegram } = this.#simulation;
    const running = this.#running.reduce((sum, n) => sum + n, 0) / Math.max(1, this.#running.length);
    const [busy, all] = cpuTimes().map((ms, n) => ms - this.#cpuBefore[n]!) as [number, number];
    return [
      { name: "picture model, calls in flight", used: inFlight(model) / gemini.settings.inFlight! },
      { name: "picture model, calls a second", used: perSecond(model) / gemini.settings.perSecond! },
      { name: "remover, calls in flight", used: inFlight(remover) / pixian.settings.inFlight! },
      { name: "remover, calls a second", used: perSecond(remover) / pixian.settings.perSecond! },
      { name: "Telegram, stickers a second", used: perSecond(telegram, "sendSticker") / OUTBOX_PER_SECOND },
      { name: "workers' capacity", used: running / (this.#children * CONCURRENCY) },
      { name: "CPU of the machine", used: busy / Math.max(1, all) },
    ];
  }
}

/** Busy and all, in milliseconds of all cores. */
function cpuTimes(): [number, number] {
  const times = cpus().map((cpu) => cpu.times);
  const all = times.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0);
  return [all - times.reduce((sum, { idle }) => sum + idle, 0), all];
}
