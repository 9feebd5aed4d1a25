// The calls of this process at one provider: those that wait for their turn, and those that are under way. Speaks with the shared state in PostgreSQL, one
// word at a time, and each word carries everything that has come up since the last one: results, permits that are free again, calls that want to begin.
//
//  1. Without a pace, a permit that this process has, or a provider without limits, lets a call begin without a word, for as long as the last answer holds.
//  2. With a pace, each call gets a time at which it begins. Where a process comes late to one, it says so, and what follows in the fleet is put off; where it
//     comes too late, it does not use it. Otherwise the call would reach the receiver beside calls that are on time.
//  3. What a word asks for and is not given, the next one asks for again: when a call ends here, when another process frees a permit, or after a while.
import type { Clock } from "../base/clock.js";
import { CallFigures } from "./call-figures.js";
import type { CallResult } from "./judge.js";
import type { ProviderSettings } from "./provider.js";
import type { ClosedProvider, ClosedWhy } from "./provider-errors.js";
import type { SyncAnswer, SyncFacts } from "./provider-statements.js";
import type { Limited } from "./rate-headers.js";
import { ServerTime } from "./server-time.js";

/** The pace allows for so much; where a call comes later to its time, what follows in the fleet is put off by the rest. */
const LATE_MS_FREE = 15;
/** Later than this it does not use its time at all. */
const LATE_MS_MAX = 100;
/** Ask again where nothing else is a reason to: another process's permits may be free, and its word was not heard. */
const ASK_AGAIN_MS = 100;
/** Figures are written this often. */
const FIGURES_MS = 5_000;
/** A word that failed is tried again after this. */
const FAILED_MS = 250;

/** Leave to begin one call. `probeNo`: it is the fleet's probe. */
export interface Grant {
  readonly probeNo: number | undefined;
}

interface Waiter {
  readonly isOver: () => boolean;
  readonly settle: (answer: Grant | ClosedProvider | undefined) => void;
}

export interface DeskContext {
  readonly clock: Clock;
  readonly sync: (settings: ProviderSettings, facts: SyncFacts) => Promise<SyncAnswer>;
  readonly trouble: (doing: string, error: unknown) => void;
}

export class Desk {
  settings: ProviderSettings;
  readonly #context: DeskContext;
  readonly #time: ServerTime;
  readonly #figures = new CallFigures();
  readonly #waiting: Waiter[] = [];
  #inFlight = 0;
  /** Calls that were given a time and have not begun. */
  #promised = 0;
  /** Permits that no call uses. */
  #idle = 0;
  /** The last answer holds until then. */
  #keepUntilMs = Number.NEGATIVE_INFINITY;
  #othersWait = false;
  #closed: { readonly why: ClosedWhy; readonly untilMs: number } | undefined;
  #ok = 0;
  /** Calls that came late to their times and are not reported yet. */
  #late: { readonly of: number; readonly ms: number }[] = [];
  #failed = 0;
  #limited: { readonly untilMs: number; readonly by: string } | undefined;
  #probe: { readonly no: number; readonly result: "ok" | "failed" | "cut" } | undefined;
  /** The word that is under way. */
  #speaking: Promise<void> | undefined;
  #speaksAgain = false;
  #hasSpoken = false;
  #hasLeft = false;
  #figuresAtMs: number;
  #forgetTimer: (() => void) | undefined;

  constructor(settings: ProviderSettings, context: DeskContext) {
    this.settings = settings;
    this.#context = context;
    this.#time = new ServerTime(context.clock);
    this.#figuresAtMs = context.clock.monotonic();
  }

  /** Whether it takes no calls, as far as this process knows. */
  get closed(): ClosedProvider | undefined {
    if (this.#closed === undefined) return undefined;
    const { why, untilMs } = this.#closed;
    const inMs = untilMs - this.#context.clock.monotonic();
    if (inMs <= 0) return undefined;
    return { provider: this.settings.name, why, inMs: Number.isFinite(inMs) ? inMs : undefined };
  }

  /** Resolves when a call may begin, or with why none may; undefined: the run has ended meanwhile. */
  take(isOver: () => boolean): Promise<Grant | ClosedProvider | undefined> {
    const { closed } = this;
    if (closed !== undefined) return Promise.resolve(closed);
    if (this.#hasLeft) return Promise.resolve(undefined);
    if (this.#begins()) {
      this.#inFlight++;
      return Promise.resolve({ probeNo: undefined });
    }
    return new Promise((settle) => {
      this.#waiting.push({ isOver, settle });
      this.#speak();
    });
  }

  /** Whether a call may begin without a word. */
  #begins(): boolean {
    const { perSecond, inFlight } = this.settings;
    if (perSecond !== undefined || this.#speaking !== undefined || this.#waiting.length > 0) return false;
    if (this.#context.clock.monotonic() >= this.#keepUntilMs || this.#closed !== undefined) return false;
    if (inFlight === undefined) return true;
    if (this.#idle === 0) return false;
    this.#idle--;
    return true;
  }

  /** A call that began here is over. */
  end({ probeNo }: Grant, result: CallResult, tookMs: number, limited: Limited | undefined): void {
    this.#inFlight--;
    if (this.settings.inFlight !== undefined) this.#idle++;
    if (result !== "cut") this.#figures.add(result, tookMs);
    if (result === "ok" || result === "refused") this.#ok++;
    if (result === "failed") this.#failed++;
    if (limited !== undefined) this.#closeFor(limited);
    if (probeNo !== undefined)
      this.#probe = { no: probeNo, result: result === "failed" || result === "cut" ? result : "ok" };
    const isNews = result === "failed" || limited !== undefined || probeNo !== undefined;
    // With a pace, a permit is of no use without a time: it goes back at once.
    const isGivenBack = this.#idle > 0 && (this.#othersWait || this.settings.perSecond !== undefined);
    if (isNews || this.#waiting.length > 0 || isGivenBack) this.#reuse(isNews);
  }

  /** A permit that became free goes to the next call that waits here, unless its pace or other processes say no. */
  #reuse(isNews: boolean): void {
    const isKept = !isNews && this.#context.clock.monotonic() < this.#keepUntilMs && this.#speaking === undefined;
    if (this.settings.perSecond === undefined && isKept && this.#idle > 0) {
      const next = this.#next();
      if (next !== undefined) {
        this.#idle--;
        return this.#start(next, undefined);
      }
    }
    this.#speak();
  }

  #closeFor({ ms, by }: Limited): void {
    const untilMs = this.#context.clock.monotonic() + ms;
    if (this.#limited === undefined || untilMs > this.#limited.untilMs) this.#limited = { untilMs, by };
    if (this.#closed === undefined || untilMs > this.#closed.untilMs) this.#closed = { why: "rate-limit", untilMs };
  }

  /** Another process has changed the shared state. */
  heard(): void {
    this.#keepUntilMs = Number.NEGATIVE_INFINITY;
    if (this.#waiting.length > 0 || this.#promised > 0 || this.#closed !== undefined || this.#idle > 0) this.#speak();
  }

  /** A round of the service: writes what is due. Resolves when it is written; true: there is more to come. */
  async round(): Promise<boolean> {
    const nowMs = this.#context.clock.monotonic();
    const isDue = !this.#figures.isEmpty && nowMs - this.#figuresAtMs >= FIGURES_MS;
    const isStale = this.#idle > 0 && nowMs >= this.#keepUntilMs;
    const isNews = this.#ok + this.#failed > 0 || this.#probe !== undefined || this.#limited !== undefined;
    if (isDue || isStale || isNews) await this.#say(isDue);
    return this.#inFlight + this.#waiting.length + this.#idle > 0 || !this.#figures.isEmpty;
  }

  /** The last word: everything is written, and nothing is held any more. */
  async leave(): Promise<void> {
    // A word that is asked for while another one is under way follows it, and has no figures.
    this.#hasLeft = true;
    this.#forgetTimer?.();
    await this.#speaking;
    if (this.#hasSpoken || !this.#figures.isEmpty) await this.#say(true);
    this.#forgetTimer?.();
  }

  #speak(): void {
    if (!this.#hasLeft) void this.#say(false);
  }

  #say(withFigures: boolean): Promise<void> {
    if (this.#speaking !== undefined) this.#speaksAgain = true;
    this.#speaking ??= this.#words(withFigures).finally(() => {
      this.#speaking = undefined;
      if (this.#speaksAgain) this.#speak();
    });
    return this.#speaking;
  }

  async #words(withFigures: boolean): Promise<void> {
    this.#hasSpoken = true;
    this.#forgetTimer?.();
    this.#forgetTimer = undefined;
    try {
      this.#speaksAgain = false;
      await this.#word(withFigures);
    } catch (error) {
      this.#context.trouble(`asking for calls at ${this.settings.name}`, error);
      this.#speaksAgain = false;
      this.#againIn(FAILED_MS);
    }
  }

  async #word(withFigures: boolean): Promise<void> {
    const { clock, sync } = this.#context;
    for (let n = this.#waiting.length - 1; n >= 0; n--)
      if (this.#waiting[n]!.isOver()) this.#waiting.splice(n, 1)[0]!.settle(undefined);
    const sentMs = clock.monotonic();
    const [ok, failed, limited, probe] = [this.#ok, this.#failed, this.#limited, this.#probe];
    const late = this.#late.splice(0);
    // What no call uses is given back by this word: none may begin under it any more.
    this.#idle = 0;
    const waiting = Math.max(0, this.#waiting.length - this.#promised);
    const facts: SyncFacts = {
      ...{ held: this.#inFlight + this.#promised, waiting, wanted: waiting, ok, failed },
      lead_ms: Math.min(50, this.#time.answerMs),
      ...(late.length > 0 && { late }),
      ...(limited && { limited_ms: Math.max(0, limited.untilMs - sentMs), limited_by: limited.by }),
      ...(probe && { probe: probe.result, probe_no: probe.no }),
      ...(withFigures && !this.#figures.isEmpty && { minute: this.#figures.take() }),
    };
    if (facts.minute !== undefined) this.#figuresAtMs = sentMs;
    const answer = await sync(this.settings, facts);
    this.#ok -= ok;
    this.#failed -= failed;
    if (this.#limited === limited) this.#limited = undefined;
    if (this.#probe === probe) this.#probe = undefined;
    this.#hear(answer, sentMs);
  }

  #hear(answer: SyncAnswer, sentMs: number): void {
    this.#time.learn(sentMs, answer.at);
    this.#othersWait = answer.others_wait;
    this.#keepUntilMs = sentMs + answer.keep_ms;
    if (answer.probe_no !== undefined) this.#begunProbe(answer.probe_no);
    if (answer.closed_why !== undefined) return this.#close(answer.closed_why, answer.closed_in_ms);
    // A limit that an answer named meanwhile is told with the next word, and stands until then.
    if (this.#limited === undefined) this.#closed = undefined;
    if (answer.starts !== undefined) for (const start of answer.starts) this.#promise(start);
    else this.#use(answer.permits);
    if (this.#waiting.length > this.#promised) this.#againIn(ASK_AGAIN_MS);
  }

  /** One call finds out whether the provider is back, whatever its pace: no other has begun for a while. */
  #begunProbe(probeNo: number): void {
    const prober = this.#next();
    if (prober !== undefined) return this.#start(prober, probeNo);
    this.#probe = { no: probeNo, result: "cut" };
    this.#speaksAgain = true;
  }

  #close(why: ClosedWhy, inMs = Number.POSITIVE_INFINITY): void {
    this.#closed = { why, untilMs: this.#context.clock.monotonic() + inMs };
    const closed = this.closed ?? { provider: this.settings.name, why, inMs: 0 };
    for (const waiter of this.#waiting.splice(0)) waiter.settle(closed);
  }

  /** Without a pace: as many begin as permits go; undefined: all. */
  #use(permits: number | undefined): void {
    this.#idle = 0;
    let free = permits === undefined ? Number.POSITIVE_INFINITY : permits - this.#inFlight;
    while (free > 0) {
      const next = this.#next();
      if (next === undefined) break;
      free--;
      this.#start(next, undefined);
    }
    if (Number.isFinite(free)) this.#idle = Math.max(0, free);
  }

  /** The next call that waits, past those whose runs have ended. */
  #next(): Waiter | undefined {
    for (;;) {
      const next = this.#waiting.shift();
      if (next === undefined || !next.isOver()) return next;
      next.settle(undefined);
    }
  }

  #start(waiter: Waiter, probeNo: number | undefined): void {
    this.#inFlight++;
    waiter.settle({ probeNo });
  }

  /** A call may begin at this time, by the server's clock. */
  #promise(startMs: number): void {
    const { clock } = this.#context;
    const atMs = this.#time.toLocal(startMs);
    this.#promised++;
    const look = (): void => {
      const inMs = atMs - clock.monotonic();
      // Timers fire early by a hair.
      if (inMs > 0.2) return void clock.after(inMs, look);
      this.#promised--;
      const waiter = -inMs > this.#lateMsMax || this.closed !== undefined ? undefined : this.#next();
      if (waiter !== undefined) {
        this.#start(waiter, undefined);
        return void setImmediate(() => this.#begun(startMs, atMs));
      }
      // The time is lost, and the permit that went with it is free from the next word on.
      if (this.#waiting.length > this.#promised || this.settings.inFlight !== undefined) this.#speak();
    };
    look();
  }

  /** To put others off for longer than the pace is between two calls would cost more than to leave this time unused. */
  get #lateMsMax(): number {
    return Math.min(LATE_MS_MAX, LATE_MS_FREE + 1000 / (this.settings.perSecond ?? 1));
  }

  /** The function of a call has been called: what it did at once, such as loading code, may have taken its time. */
  #begun(startMs: number, atMs: number): void {
    const lateMs = this.#context.clock.monotonic() - atMs - LATE_MS_FREE;
    if (lateMs <= 0) return;
    this.#late.push({ of: startMs, ms: Math.min(1_000, lateMs) });
    this.#speak();
  }

  #againIn(ms: number): void {
    this.#forgetTimer ??= this.#context.clock.after(ms, () => {
      this.#forgetTimer = undefined;
      if (this.#waiting.length > 0) this.#speak();
    });
  }
}
