// Delivers one message of a channel: says that it begins, sends, and says what that came to. Knows no database.
//
// Between begin and settle a message may have arrived, and a later attempt that finds it so is uncertain. What it does then is the channel's
// policy: a message goes out again only where the receiver knows its key, or was asked and has not seen it.
import { randomUUID } from "node:crypto";
import type { Clock } from "../base/clock.js";
import { recordError } from "../base/error-record.js";
import { InputInvalidError, LeaseLostError } from "../base/errors.js";
import type { Logger } from "../base/log.js";
import type { Claim } from "../core/job/claim.js";
import { type Codec, openJson } from "../core/job/codec.js";
import { unspentOf } from "../core/job/lease-no.js";
import { cancel, snooze } from "../core/job/outcome.js";
import { PayloadOutdatedError, validateInput } from "../core/job/validate-input.js";
import type { Arrival, Channel, SendContext } from "./channel.js";
import type { Begun, Delivered, SendKeeper } from "./delivery.js";
import { DeliveryUnknownError } from "./delivery-errors.js";
import type { DeliveryMark } from "./delivery-mark.js";

/** What a run is given. */
export interface DeliveryRun {
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface DelivererOptions {
  readonly keeper: SendKeeper;
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Opens messages that are sealed. */
  readonly codec?: Codec | undefined;
}

/** A process that was held up between begin and send asks again, but not for ever. */
const BEGINS_MAX = 3;

export class Deliverer {
  // biome-ignore lint/suspicious/noExplicitAny: a worker holds channels of all messages; `defineChannel` checks that the parts fit.
  readonly #channel: Channel<any, any>;
  readonly #options: DelivererOptions;
  /**
   * An answer to begin that is older than this is not acted upon. A part of the lease, because another worker may have the job after it; and of
   * the grace before asking, because a later query must find what was sent.
   */
  readonly #freshMs: number;

  // biome-ignore lint/suspicious/noExplicitAny: see above.
  constructor(channel: Channel<any, any>, options: DelivererOptions) {
    this.#channel = channel;
    this.#options = options;
    this.#freshMs = Math.min(
      options.leaseMs / 3,
      channel.onUncertain === "ask" ? channel.askAfterMs / 2 : options.leaseMs,
    );
  }

  async deliver(claim: Claim, run: DeliveryRun, isOver: () => boolean): Promise<Delivered> {
    const own = randomUUID();
    let resend = this.#channel.onUncertain === "resend";
    for (let begins = 1; ; begins++) {
      const begun = await this.#options.keeper.begin(claim, own, resend, isOver);
      if (begun.answer === "lost") return failed(new LeaseLostError(), undefined, true);
      if (begun.answer === "over") return { outcome: { type: "returned", value: cancel("The message has its end.") } };
      if (begun.answer === "uncertain") {
        const decided = await this.#uncertain(claim, run, begun);
        if (decided !== "resend") return decided;
        resend = true;
        continue;
      }
      const sent = await this.#send(claim, run, begun);
      if (sent !== "stale") return sent;
      if (begins >= BEGINS_MAX)
        return failed(new Error("Not sent: the process was held up again and again before it could."), "refused");
    }
  }

  async #uncertain(claim: Claim, run: DeliveryRun, begun: Begun): Promise<Delivered | "resend"> {
    const { onUncertain, askAfterMs } = this.#channel;
    if (onUncertain !== "ask")
      return failed(
        new DeliveryUnknownError("an earlier attempt began to send it and did not get to say more"),
        "uncertain",
      );
    if (begun.sinceMs < askAfterMs)
      return { outcome: { type: "returned", value: snooze(Math.ceil(askAfterMs - begun.sinceMs) + 1) } };
    let arrival: Arrival;
    try {
      const message = await this.#open(claim, begun);
      arrival = await this.#channel.ask!(this.#contextOf(claim, run, begun), message);
    } catch (error) {
      // The message stays uncertain, whatever it was: nothing was sent by this attempt.
      return { outcome: { type: "threw", error } };
    }
    run.log.info({ message: begun.messageId, arrival }, "Asked whether the message arrived");
    if (arrival === "arrived")
      return { outcome: { type: "returned", value: undefined }, details: { delivery: { outcome: "sent" } } };
    if (arrival === "not-arrived") return "resend";
    return { outcome: { type: "threw", error: new Error("The receiver does not know whether the message arrived.") } };
  }

  async #send(claim: Claim, run: DeliveryRun, begun: Begun): Promise<Delivered | "stale"> {
    let message: unknown;
    try {
      message = await this.#open(claim, begun);
    } catch (error) {
      return {
        outcome: { type: "unopened", error, unspent: unspentOf(claim) },
        details: { delivery: markOf("refused", error) },
      };
    }
    if (run.signal.aborted) return failed(run.signal.reason, "refused");
    // The last look at the clock before the message leaves: nothing waits from here to `send`.
    if (this.#options.clock.monotonic() - begun.askedAtMs > this.#freshMs) return "stale";
    try {
      const answer = await this.#channel.send(message, this.#contextOf(claim, run, begun));
      return { outcome: { type: "returned", value: undefined }, details: { delivery: { outcome: "sent", answer } } };
    } catch (error) {
      if (isNotDelivered(error)) return failed(error, "refused");
      if (this.#channel.onUncertain !== "review") return failed(error, "uncertain");
      const said = recordError(error).message;
      return failed(new DeliveryUnknownError(`sending it ended with "${said}"`, { cause: error }), "uncertain");
    }
  }

  /** What was published, as `send` takes it. */
  async #open(claim: Claim, { payload }: Begun): Promise<unknown> {
    const opened = openJson(this.#options.codec, payload, claim, "payload");
    try {
      return await validateInput(this.#channel.definition, opened);
    } catch (error) {
      throw error instanceof InputInvalidError ? new PayloadOutdatedError(error) : error;
    }
  }

  #contextOf(claim: Claim, run: DeliveryRun, { messageId, idempotencyKey, tries }: Begun): SendContext {
    const { name: channel } = this.#channel;
    const { signal, log } = run;
    const { tenant, trace } = claim;
    return { id: messageId, channel, tenant, idempotencyKey, attempt: tries, trace, signal, log };
  }
}

function failed(error: unknown, outcome: "refused" | "uncertain" | undefined, isLost = false): Delivered {
  return {
    outcome: { type: "threw", error, ...(isLost && { abortedBy: error }) },
    ...(outcome && { details: { delivery: markOf(outcome, error) } }),
  };
}

/** Without the stack: the job has it among its failures. */
function markOf(outcome: "refused" | "uncertain", error: unknown): DeliveryMark {
  const { name, message, code } = recordError(error);
  return { outcome, error: code === undefined ? { name, message } : { name, message, code } };
}

/** Our own class, or any error that says so of itself. */
function isNotDelivered(error: unknown): boolean {
  try {
    return typeof error === "object" && error !== null && (error as { delivered?: unknown }).delivered === false;
  } catch {
    return false;
  }
}
