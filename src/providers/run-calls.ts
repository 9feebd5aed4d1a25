// The calls of one run: each at the first provider of its chain that is open, under the provider's time limit, and at the next one where it fails.
import type { Clock } from "../base/clock.js";
import { LeaseLostError } from "../base/errors.js";
import { BudgetSpentError } from "../budgets/budget-errors.js";
import type { Claim } from "../core/job/claim.js";
import type { RunAttachment } from "../core/run/run.js";
import type { CallKeeper, ChargeEnd, NoRoom } from "./call-keeper.js";
import { type AnswerLike, isAnswer, type Judgement, judgeAnswer, judgeError } from "./judge.js";
import { checkCost, type Provider } from "./provider.js";
import {
  type ClosedProvider,
  ProviderClosedError,
  ProviderFailedError,
  ProviderTimeoutError,
} from "./provider-errors.js";

/** What the function of a call is given. */
export interface CallContext {
  /** Aborts at the provider's time limit, and whenever the job's own signal does. Hand it to `fetch`. */
  readonly signal: AbortSignal;
  /** Which of the chain is called. */
  readonly provider: Provider;
  /** Looks at an answer: a limit that it names closes the provider for the whole fleet, and one that says that the call failed is thrown. */
  check<Answer extends AnswerLike>(answer: Answer): Answer;
  /** soft: a budget of the tenant is beyond its soft threshold. Ask for less, if you can. */
  readonly budget: "within" | "soft";
  /** What the call really cost, instead of what was expected. */
  cost(amount: number): void;
}

export interface CallOptions {
  /** What the call is expected to cost; default: as the provider's definition says. */
  readonly cost?: number;
}

/** What the calls of a run need of it. */
export interface CallsRun {
  readonly claim: Claim;
  readonly clock: Clock;
  readonly keeper: CallKeeper;
  readonly isOver: () => boolean;
  readonly abortedBy: () => unknown;
}

/** Put back, it is ready at once, and claims leave it alone while the budget is spent. */
const PARKED_MS = 100;
/** Where they do not: a kind that has another way, or a budget that is not quite spent. */
const NOT_PARKED_MS = 30_000;

/** The answer says that the call failed: taken apart again by the call around it. */
class BadAnswer {
  readonly judgement: Judgement;
  constructor(judgement: Judgement) {
    this.judgement = judgement;
  }
}

interface Tried<T> {
  readonly judgement: Judgement;
  readonly value?: T;
  readonly error?: unknown;
}

export class Calls implements RunAttachment {
  readonly fault = undefined;
  readonly #run: CallsRun;
  readonly #open = new Set<Promise<unknown>>();
  readonly #aborts = new Set<(reason: unknown) => void>();

  constructor(run: CallsRun) {
    this.#run = run;
  }

  /** A call that is still under way when the handler ends has perhaps been paid for. */
  drain(): Promise<unknown> | undefined {
    return this.#open.size === 0 ? undefined : Promise.allSettled([...this.#open]);
  }

  abort(reason: unknown): void {
    for (const abort of this.#aborts) abort(reason);
  }

  call<T>(chain: readonly Provider[], work: (call: CallContext) => T | Promise<T>, { cost }: CallOptions): Promise<T> {
    const calling = this.#call(chain, work, cost);
    this.#open.add(calling);
    // One that is not awaited must not end the process when it fails.
    calling.catch(() => {}).finally(() => this.#open.delete(calling));
    return calling;
  }

  async #call<T>(
    chain: readonly Provider[],
    work: (call: CallContext) => T | Promise<T>,
    cost: number | undefined,
  ): Promise<T> {
    const { claim, keeper, isOver } = this.#run;
    const closed: ClosedProvider[] = [];
    let spent: NoRoom | undefined;
    let failure: { readonly error: unknown } | undefined;
    for (let rest = chain; rest.length > 0; ) {
      this.#refuse();
      const links = rest.map((one) => ({ settings: one.settings, cost: cost ?? one.cost }));
      const begun = await this.#unlessAborted(keeper.begin(claim, { chain: links }, isOver), (late) => {
        if ("call" in late) void keeper.end(claim, { ...NOT_BEGUN, call: late.call }).catch(() => {});
      });
      if ("closed" in begun) {
        closed.push(...begun.closed);
        spent = begun.spent;
        break;
      }
      const provider = rest[begun.index]!;
      // One before it was closed, or dearer than a budget likes: it may be what is left.
      rest = rest.filter((_, index) => index !== begun.index);
      const { judgement, value, error } = await this.#try(provider, begun, work);
      if (judgement.result === "ok") {
        if (error !== undefined) throw (error as { thrown: unknown }).thrown;
        return value as T;
      }
      if (judgement.result === "cut") throw (error as { thrown: unknown }).thrown;
      const thrown = (error as { thrown: unknown }).thrown;
      if (judgement.result === "limited")
        closed.push({ provider: provider.name, why: "rate-limit", inMs: judgement.limited?.ms });
      else if (begun.isProbe && judgement.result === "failed")
        // That it found out that the provider is not back is no fault of the job.
        closed.push({ provider: provider.name, why: "breaker", inMs: provider.settings.openForMs });
      else failure = { error: thrown };
    }
    if (failure !== undefined) throw failure.error;
    if (spent !== undefined) throw new BudgetSpentError(spent.facts, spent.isParked ? PARKED_MS : NOT_PARKED_MS);
    throw new ProviderClosedError(closed);
  }

  async #try<T>(
    provider: Provider,
    { call, isSoft }: { readonly call: string; readonly isSoft: boolean },
    work: (call: CallContext) => T | Promise<T>,
  ): Promise<Tried<T>> {
    const { claim, clock, keeper } = this.#run;
    const { timeoutMs } = provider.settings;
    const stop = new AbortController();
    const startMs = clock.monotonic();
    let spent: number | undefined;
    let seen: Judgement | undefined;
    const judged = (answer: AnswerLike) => judgeAnswer(answer, clock.now(), provider.rateLimitPauseMs);
    const context: CallContext = {
      signal: stop.signal,
      provider,
      budget: isSoft ? "soft" : "within",
      check: (answer) => {
        seen = judged(answer);
        if (seen.result !== "ok") throw new BadAnswer(seen);
        return answer;
      },
      cost: (amount) => {
        spent = checkCost(amount, "cost");
      },
    };
    const timeout = new ProviderTimeoutError(provider.name, timeoutMs);
    const forget = clock.after(timeoutMs, () => stop.abort(timeout));
    const abort = (reason: unknown) => stop.abort(reason);
    this.#aborts.add(abort);
    let tried: Tried<T>;
    try {
      const value = await stopped(stop.signal, async () => {
        const answer = await work(context);
        if (isAnswer(answer)) context.check(answer);
        return answer;
      });
      tried = { judgement: seen ?? OK, value };
    } catch (thrown) {
      tried = this.#judge(provider, thrown, stop.signal, timeout, seen);
    } finally {
      forget();
      this.#aborts.delete(abort);
    }
    const { result, limited } = tried.judgement;
    const isCut = stop.signal.aborted || (result === "failed" && tried.judgement.status === undefined);
    const charge: ChargeEnd =
      spent !== undefined || result === "ok"
        ? { state: "paid", cost: spent }
        : { state: isCut ? "unknown" : "void", cost: undefined };
    const tookMs = clock.monotonic() - startMs;
    await keeper.end(claim, { call, result, tookMs, limited, charge });
    return tried;
  }

  /** What was thrown, as the job is to see it, and what it says of the provider. */
  #judge(
    provider: Provider,
    thrown: unknown,
    signal: AbortSignal,
    timeout: ProviderTimeoutError,
    seen: Judgement | undefined,
  ): Tried<never> {
    const { clock } = this.#run;
    if (signal.aborted && signal.reason !== timeout)
      return { judgement: { ...OK, result: "cut" }, error: { thrown: signal.reason } };
    if (signal.aborted) return { judgement: { ...OK, result: "failed" }, error: { thrown: timeout } };
    if (thrown instanceof BadAnswer) {
      const { status } = thrown.judgement;
      const what = thrown.judgement.result === "refused" ? "does not let us in" : "failed";
      const error = new ProviderFailedError(provider.name, `${what}: it answered ${status}`, status);
      return { judgement: thrown.judgement, error: { thrown: error } };
    }
    const judgement = judgeError(thrown, clock.now(), provider.rateLimitPauseMs);
    // The answer was good, as the provider goes; what the handler made of it is its own affair.
    if (seen !== undefined && judgement.status === undefined) return { judgement: seen, error: { thrown } };
    return { judgement, error: { thrown } };
  }

  #refuse(): void {
    const reason = this.#run.abortedBy();
    if (reason !== undefined) throw reason;
    if (this.#run.isOver()) throw new LeaseLostError("The run has ended: calls belong to a handler that still runs.");
  }

  /** The run may be told to stop while a call waits for its turn. `late`: what becomes of an answer that nothing waits for any more. */
  #unlessAborted<Answer>(asking: Promise<Answer>, late: (answer: Answer) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const abort = (reason: unknown) => {
        isOver = true;
        this.#aborts.delete(abort);
        reject(reason);
      };
      this.#aborts.add(abort);
      asking.then(
        (answer) => {
          this.#aborts.delete(abort);
          if (isOver) late(answer);
          else resolve(answer);
        },
        (error: unknown) => {
          this.#aborts.delete(abort);
          reject(error);
        },
      );
    });
  }
}

const OK: Judgement = { result: "ok", status: undefined, limited: undefined };

/** Leave was given, and the call did not begin. */
const NOT_BEGUN = {
  result: "cut",
  tookMs: 0,
  limited: undefined,
  charge: { state: "void", cost: undefined },
} as const;

/** The work, or what its signal aborted with: a function that ignores its signal is not waited for. */
function stopped<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}
