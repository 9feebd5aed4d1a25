// Runs the handlers of a kit by ticks: short lives of a worker that end when nothing is due, so that a test knows when all is done.
import { ConfigError } from "../base/errors.js";
import { showValue } from "../base/show-value.js";
import { TickRunner } from "../ticks/tick-runner.js";
import { checkTickOptions, type TickOptions } from "../ticks/tick-settings.js";
import { DrainEndlessError } from "./errors.js";

/** What a drain ran. */
export interface Drained {
  readonly ran: number;
  readonly succeeded: number;
  readonly failed: number;
}

/** A test that takes longer has other troubles. */
const BUDGET = "5m" as const;
const PER_TICK_MAX = 100;

export class KitRunner {
  readonly #options: TickOptions;
  readonly #all: TickRunner | undefined;
  /** Runners of one kind that take one job. */
  readonly #ones = new Map<string, TickRunner>();

  constructor(options: TickOptions) {
    this.#options = options;
    const hasHandlers = (options.handlers?.length ?? 0) + (options.channels?.length ?? 0) > 0;
    this.#all = hasHandlers ? this.#runner(options, PER_TICK_MAX) : undefined;
  }

  #runner(options: TickOptions, jobsMax: number): TickRunner {
    const whole = { ...options, budget: BUDGET, maxJobsPerTick: jobsMax, maxJobsPerTenantPerTick: jobsMax };
    return new TickRunner(whole, checkTickOptions(whole, "createTestKit"));
  }

  /** A kind without a handler cannot run. */
  check(kind: string): void {
    const kinds = (this.#options.handlers ?? []).map(({ definition }) => definition.kind);
    if (kinds.includes(kind)) return;
    const known = kinds.length === 0 ? "none" : kinds.join(", ");
    throw new ConfigError(
      "handlers",
      `createTestKit: there is no handler for ${showValue(kind)}. Pass it in \`handlers\`; given: ${known}.`,
    );
  }

  /** The next job of a kind, and only this one. */
  async runOne(kind: string): Promise<void> {
    let runner = this.#ones.get(kind);
    if (runner === undefined) {
      const { channels: _, ...options } = this.#options;
      const handlers = (options.handlers ?? []).filter(({ definition }) => definition.kind === kind);
      runner = this.#runner({ ...options, handlers }, 1);
      this.#ones.set(kind, runner);
    }
    await runner.runOnce();
  }

  async drain(jobsMax: number): Promise<Drained> {
    const sum = { ran: 0, succeeded: 0, failed: 0 };
    if (this.#all === undefined)
      throw new ConfigError("handlers", "createTestKit: there are no handlers, so nothing can be drained.");
    for (;;) {
      const { claimed, succeeded, failed } = await this.#all.runOnce();
      sum.ran += claimed;
      sum.succeeded += succeeded;
      sum.failed += failed;
      if (claimed === 0) return sum;
      if (sum.ran > jobsMax) throw new DrainEndlessError(sum.ran);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#all, ...this.#ones.values()].map((runner) => runner?.close()));
  }
}
