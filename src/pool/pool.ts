// The children of a supervisor: as many as are wanted, each replaced when it fails, drained when it is to end.
//
//  A process died      its jobs are settled as crashes, another process is started after a pause; after too many in a row the child is terminated
//  too many children   the idlest is drained: no more jobs, what runs ends within its grace, then the process ends
//  recycle, restart    a new child is ready before the old one drains; one at a time

import { sleep } from "../base/clock.js";
import { Child, type ChildFacts } from "./child.js";
import { FailureCount } from "./failure-count.js";
import type { ChildState, Exit } from "./life-cycle.js";
import { CrashLoopError } from "./pool-errors.js";
import type { PoolOptions } from "./pool-options.js";
import type { PoolSettings } from "./pool-settings.js";
import { Recycling } from "./recycling.js";
import { Timers } from "./timers.js";

/** Processes that start at once: more would only make one another slow. */
const STARTING_MAX = 2;
/** A child that has been ready for so long is no failure of the start any more. */
const STABLE_MS = 60_000;
/** Terminated children that are remembered for people. */
const REMEMBERED_MAX = 20;
/** How long a process that was told to leave may take. */
const LEAVE_MS = 3_000;

export class Pool {
  readonly #options: PoolOptions;
  #children: Child[] = [];
  readonly #past: ChildFacts[] = [];
  readonly #recycling: Recycling;
  /** There beyond the wanted number, until it is ready and the one that it replaces drains. */
  #replacement: Child | undefined;
  #numbers = 0;
  #target = 0;
  readonly #failures = new FailureCount();
  #isStopping = false;
  readonly #timers: Timers;
  #waiters: (() => void)[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
    this.#recycling = new Recycling(options.settings.recycle, options.clock, (child, why) => this.replace(child, why));
  }

  get children(): readonly Child[] {
    return this.#children;
  }

  get settings(): PoolSettings {
    return this.#options.settings;
  }

  get target(): number {
    return this.#target;
  }

  /** Those that live and stay. */
  get staying(): Child[] {
    return this.#children.filter((child) => !child.isDraining);
  }

  get serving(): Child[] {
    return this.#children.filter((child) => child.isServing);
  }

  get #extra(): number {
    return this.#replacement === undefined ? 0 : 1;
  }

  facts(): ChildFacts[] {
    return [...this.#children.map((child) => child.facts()), ...this.#past];
  }

  /** From now on there shall be so many. */
  resizeTo(target: number, why: string): void {
    this.#target = target;
    this.#fill();
    const surplus = this.staying.length - target;
    const idlest = this.staying.toSorted((a, b) => rank(a) - rank(b) || a.running - b.running || b.number - a.number);
    for (const child of idlest.slice(0, Math.max(0, surplus - this.#extra)))
      this.drain(child, { kind: "wanted", reason: why });
  }

  /** Resolves when so many can be given jobs, or the pool stops. */
  async servingAtLeast(count: number): Promise<void> {
    while (!this.#isStopping && this.serving.length < count)
      await new Promise<void>((done) => this.#waiters.push(done));
  }

  /** A job of the child has ended: it works. */
  succeeded(child: Child): void {
    child.failures = 0;
    this.#failures.forget();
    this.#recycling.look(child);
  }

  /** New processes for all children, one after the other; resolves when the last old one drains. False: a new one did not get ready. */
  restart(why: string): Promise<boolean> {
    return this.#recycling.restart(this.staying, why);
  }

  /** A new child in the stead of an old one, which drains when the new one is ready. */
  async replace(old: Child, why: string): Promise<boolean> {
    if (this.#isStopping || old.isDraining || !this.#children.includes(old)) return true;
    const fresh = this.#start();
    this.#replacement = fresh;
    while (!this.#isStopping && fresh.state === "idle") await new Promise<void>((done) => this.#waiters.push(done));
    this.#replacement = undefined;
    if (!fresh.isServing) {
      // A failed one is not started again here: the old child still works.
      if (fresh.state !== "terminated") this.#terminate(fresh);
      this.#options.log.error(
        { child: old.number, why, reason: fresh.reason },
        "The new child did not get ready: keeping the old one",
      );
      return false;
    }
    this.drain(old, { kind: "wanted", reason: why });
    return true;
  }

  /** No more jobs; what runs ends at its next step or within the grace of its kind, is told to stop after that, and the process ends. */
  drain(child: Child, exit: Exit): void {
    if (child.isDraining) return;
    child.isDraining = true;
    child.reason = exit.reason;
    this.#changed();
    this.#options.log.info(
      { child: child.number, pid: child.pid, running: child.running, reason: exit.reason },
      "Child draining",
    );
    child.say({ type: "yield" });
    for (const run of child.runs.values())
      this.#timers.after(this.graceOf(run.claim.kind), () => this.onGraceOver(child, run.number));
    this.#settleDrain(child, exit);
    this.#fill();
  }

  /** Set by the supervisor: tells the run to stop. */
  onGraceOver: (child: Child, run: number) => void = () => {};

  graceOf(kind: string): number {
    return this.#options.settings.graceMsByKind.get(kind) ?? this.#options.graceMs;
  }

  /** All will end: jobs with steps stop at their next one. */
  yieldAll(): void {
    for (const child of this.#children) child.say({ type: "yield" });
  }

  /** A run of the child has its verdict, or has ended. */
  looked(child: Child): void {
    if (child.isDraining) this.#settleDrain(child, { kind: "wanted", reason: child.reason ?? "drained" });
  }

  /** A draining process ends when nothing runs in it; where all is decided and a handler still goes on, without it. */
  #settleDrain(child: Child, exit: Exit): void {
    if (!child.hasProcess) return child.state === "failed" ? this.#terminate(child) : undefined;
    if (child.runs.size === 0) {
      child.leave(exit);
      this.#timers.after(LEAVE_MS, () => child.kill(exit));
    } else if ([...child.runs.values()].every((run) => run.isDecided)) child.kill(exit);
  }

  /** Ends all processes: what ran was settled before. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#target = 0;
    this.#recycling.stop();
    this.#timers.stop();
    const exit: Exit = { kind: "wanted", reason: "the supervisor stops" };
    for (const child of [...this.#children]) {
      if (!child.hasProcess) this.#terminate(child);
      else if (child.state === "idle" || child.running > 0) child.kill(exit);
      else child.leave(exit);
    }
    const { clock } = this.#options;
    const endMs = clock.monotonic() + LEAVE_MS;
    while (this.#children.length > 0) {
      if (clock.monotonic() > endMs) for (const child of this.#children) child.kill(exit);
      await sleep(clock, 5);
    }
    this.#notify();
  }

  #start(): Child {
    const { clock, child, log } = this.#options;
    const number = ++this.#numbers;
    const { process } = child;
    const started = new Child({
      ...child,
      number,
      clock,
      process: { ...process, settings: { ...process.settings, number } },
      onState: (one, before) => this.#onState(one, before),
      onOffer: (_, offer) => this.#options.onOffer(offer),
      onMessage: this.#options.onMessage,
      onVitals: (one) => this.#recycling.look(one),
      onExit: (one, exit) => this.#onExit(one, exit),
    });
    this.#children.push(started);
    this.#recycling.born(started);
    log.debug({ child: number, pid: started.pid }, "Child started");
    this.#options.onChild(started, "idle");
    return started;
  }

  /** Starts what is missing, a few at a time. */
  #fill(): void {
    while (
      !this.#isStopping &&
      this.staying.length - this.#extra < this.#target &&
      this.#children.filter(({ state }) => state === "idle").length < STARTING_MAX
    )
      this.#start();
  }

  #onState(child: Child, before: ChildState): void {
    if (child.state === "ready" && (before === "idle" || before === "failed")) {
      this.#options.log.info({ child: child.number, pid: child.pid }, "Child ready");
      this.#timers.after(STABLE_MS, () => {
        if (child.hasProcess && (child.state === "ready" || child.state === "working")) this.#isStable(child);
      });
      this.#fill();
    }
    this.#options.onChild(child, before);
    if (child.state !== "working" && before !== "working") this.#changed();
    else if (child.state === "failed") this.#changed();
    this.#notify();
  }

  #isStable(child: Child): void {
    if (child.ageMs >= STABLE_MS) this.succeeded(child);
  }

  #onExit(child: Child, exit: Exit): void {
    const { log } = this.#options;
    const running = child.running;
    const kinds = [...new Set([...child.runs.values()].map(({ claim }) => claim.kind))];
    if (exit.kind === "wanted") {
      this.#options.onLost(child, exit);
      if (child.state === "working") child.become("ready");
      log.info({ child: child.number, reason: exit.reason }, "Child ended");
      return this.#terminate(child);
    }
    child.failures++;
    child.become("failed");
    this.#failures.failed();
    log.error(
      { child: child.number, exit: exit.kind, reason: exit.reason, running, failures: child.failures },
      "Child failed",
    );
    this.#options.onLost(child, exit);
    this.#notify();
    if (this.#isStopping || child.isDraining) return this.#terminate(child);
    if (child.failures >= this.#options.settings.failuresMax) return this.#giveUp(child, exit, kinds);
    this.#timers.after(this.#failures.pauseMs(child.failures), () => {
      if (child.state === "failed" && !this.#isStopping && !child.isDraining) child.startProcess();
    });
  }

  /** Too many failures in a row: this child is over. Another one takes its place, unless none ever works. */
  #giveUp(child: Child, exit: Exit, kinds: readonly string[]): void {
    const { settings } = this.#options;
    this.#failures.terminated();
    this.#terminate(child);
    if (this.serving.length === 0 && this.#failures.isLoop(settings.min)) {
      this.#isStopping = true;
      this.#notify();
      return this.#options.onCrashLoop(new CrashLoopError(settings.pool, this.#failures.count, exit.reason, kinds));
    }
    this.#timers.after(this.#failures.replaceMs, () => this.#fill());
  }

  #terminate(child: Child): void {
    if (child.state === "terminated") return;
    if (child.hasProcess) child.kill({ kind: "wanted", reason: "terminated" });
    this.#children = this.#children.filter((one) => one !== child);
    child.become("terminated");
    this.#past.unshift(child.facts());
    this.#past.length = Math.min(this.#past.length, REMEMBERED_MAX);
    if (child.failures < this.#options.settings.failuresMax) this.#fill();
    this.#changed();
    this.#notify();
  }

  #changed(): void {
    this.#options.onCapacity(this.serving.length);
  }

  #notify(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}

/** Those that do not work yet go before idle ones, idle ones before busy ones. */
const rank = ({ state }: Child): number => (state === "failed" ? 0 : state === "idle" ? 1 : state === "ready" ? 2 : 3);
