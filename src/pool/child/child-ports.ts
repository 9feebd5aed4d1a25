// What the runs of a child ask of the database, asked of the supervisor instead: each call is a message, each answer another one.

import type { Clock } from "../../base/clock.js";
import type { NodeResult } from "../../batches/flow-statements.js";
import type { NodeRows } from "../../batches/node-reader.js";
import type { Claim } from "../../core/job/claim.js";
import type { CompleterPorts } from "../../core/settle/completer.js";
import type { Ruled } from "../../limits/limit-statements.js";
import type { UsedUnits } from "../../limits/use-context.js";
import type { Begun, SendKeeper } from "../../outbox/delivery.js";
import type { Begun as BegunCall, CallKeeper } from "../../providers/call-keeper.js";
import type { Tick } from "../../schedules/schedule.js";
import type { DoneStep, KnownStep, Pause, PauseAnswer, StepAnswer, StepKeeper } from "../../steps/step.js";
import type { PortName, SentError } from "../border/messages.js";
import { receiveError } from "../border/sent-errors.js";

/** Sends a call; the claim says of which run, if of one. */
export type Ask = (call: number, claim: Claim | undefined, port: PortName, args: readonly unknown[]) => void;

export class ChildPorts implements StepKeeper, NodeRows, SendKeeper, CompleterPorts {
  readonly stepsMax: number;
  readonly #ask: Ask;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #calls = 0;

  constructor(ask: Ask, clock: Clock, stepsMax: number) {
    this.#ask = ask;
    this.#clock = clock;
    this.stepsMax = stepsMax;
  }

  /** The supervisor has answered. */
  answer(call: number, value: unknown, error: SentError | undefined): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(receiveError(error));
  }

  #call<T>(claim: Claim | undefined, port: PortName, ...args: readonly unknown[]): Promise<T> {
    const call = ++this.#calls;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(call, { resolve: resolve as (value: unknown) => void, reject });
      this.#ask(call, claim, port, args);
    });
  }

  read(claim: Claim): Promise<readonly KnownStep[]> {
    return this.#call(claim, "readSteps");
  }
  store(claim: Claim, step: DoneStep): Promise<StepAnswer> {
    return this.#call(claim, "storeStep", step);
  }
  pause(claim: Claim, pause: Pause): Promise<PauseAnswer> {
    return this.#call(claim, "pauseStep", pause);
  }
  result(claim: Claim, node: string): Promise<NodeResult> {
    return this.#call(claim, "nodeResult", node);
  }
  results(claim: Claim, node: string): Promise<readonly NodeResult[]> {
    return this.#call(claim, "nodeResults", node);
  }
  caller(claim: Claim): ReturnType<NodeRows["caller"]> {
    return this.#call(claim, "caller");
  }
  tick(claim: Claim): Promise<Tick | undefined> {
    return this.#call(claim, "tick");
  }
  tellLimits({ kind, limits, uses }: Ruled): Promise<void> {
    // Of a limit what is data: its estimates are functions.
    const named = uses?.map(({ limit: { name, windows } }) => ({ limit: { name, windows } }));
    return this.#call(undefined, "tellLimits", { kind, limits, uses: named });
  }
  use(claim: Claim, used: UsedUnits): Promise<boolean> {
    return this.#call(claim, "useUnits", used);
  }
  dismissProgress(claim: Claim): Promise<void> {
    return this.#call(claim, "dismissProgress");
  }
  isSettled(claim: Claim): Promise<boolean> {
    return this.#call(claim, "isSettled");
  }

  /** Limits and breakers of providers are kept by the supervisor's process, for all its children. */
  readonly calls: CallKeeper = {
    begin: (claim, ask) => this.#call<BegunCall>(claim, "beginCall", ask),
    end: (claim, end) => this.#call<void>(claim, "endCall", end),
  };

  /** The time is this process's own, and taken before the question leaves: clocks of two processes need not agree. */
  async begin(claim: Claim, run: string, resend: boolean): Promise<Begun> {
    const askedAtMs = this.#clock.monotonic();
    return { ...(await this.#call<Begun>(claim, "beginSend", run, resend)), askedAtMs };
  }
}
