import { ConfigError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { nameOf, oneOf, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import { checkReason } from "../core/job/job-credits.js";
import { type CancelAnswer, cancelJob, type RetryAnswer, retryFromStart, retryJob } from "../jobs/control-jobs.js";
import { previewRedrive, type Redriven, type RedriveOptions, type RedrivePreview, redrive } from "../jobs/redrive.js";
import type { RedriveFilter } from "../jobs/redrive-filter.js";
import { type RerunOptions, rerun } from "../jobs/rerun.js";
import {
  checkGateName,
  checkGateSettings,
  type GateName,
  type GateScope,
  type GateSettings,
  type TenantSettings,
} from "../limits/limit-settings.js";
import { setGate } from "../limits/limit-statements.js";
import { MessageNotFoundError } from "../outbox/delivery-errors.js";
import { type ResolveAnswer, resolveMessage } from "../outbox/outbox-statements.js";
import type { ResolveOptions } from "../outbox/publish.js";
import { checkSignal, sealSignal } from "../steps/signals.js";
import { type SignalAnswer, sendSignal } from "../steps/step-statements.js";
import { ReadingClient } from "./reading-client.js";

export class SteeringClient extends ReadingClient {
  /** Cancels a job: at once when it waits ("cancelled"), by its signal when it runs ("requested"). */
  cancel(id: string): Promise<CancelAnswer> {
    return this.tools.call(() => cancelJob(this.tools.db, checkJobId(id)));
  }

  /** Runs a dead or cancelled job again, or a waiting one now: behind its finished steps, or `fromStart` without any. */
  async retry(id: string, options: { readonly fromStart?: boolean } = {}): Promise<RetryAnswer> {
    refuseUnknown(options, ["fromStart"], "retry");
    if (options.fromStart !== undefined && typeof options.fromStart !== "boolean")
      throw new ConfigError(
        "fromStart",
        `retry: fromStart: ${showValue(options.fromStart)} is neither true nor false.`,
      );
    const retry = options.fromStart ? retryFromStart : retryJob;
    return this.tools.call(() => retry(this.tools.db, checkJobId(id)));
  }

  /** What `redrive` would put back: how many, by kind and error, and the oldest of them. Changes nothing. */
  previewRedrive(filter: RedriveFilter, options: Pick<RedriveOptions, "after"> = {}): Promise<RedrivePreview> {
    return this.tools.call(() => previewRedrive(this.tools.db, filter, options));
  }

  /** Runs all dead (or cancelled) jobs that fit again, in bounded batches. What is left out of the filter is not asked for. */
  redrive(filter: RedriveFilter, options: RedriveOptions = {}): Promise<Redriven> {
    return this.tools.call(() => redrive(this.tools.db, this.tools.clock, filter, options));
  }

  /** A new job like one that has ended, with other input. The old one stays, and the new one's `rerunOf` names it. */
  rerun<In = unknown>(id: string, options: RerunOptions<In> = {}): Promise<Enqueued> {
    return this.tools.call(() =>
      rerun(this.tools.db, this.tools.rules, this.tools.codec, checkJobId(id), options, this.tools.chain),
    );
  }

  /** Sends a job the signal that `ctx.waitFor(name)` waits for, now or later. The first one counts. */
  async signal(id: string, name: string, value?: unknown): Promise<SignalAnswer> {
    const signal = checkSignal(id, name, value);
    return this.tools.call(async () => {
      const sealed = await sealSignal(this.tools.ask, this.tools.db.schema, this.tools.codec, signal);
      return sendSignal(this.tools.db, signal.jobId, signal.name, sealed);
    });
  }

  /**
   * Says what became of a message whose fate is unknown, or that was given up: it arrived ("sent"), it did not ("failed"), or it did not
   * and is to be sent again ("resend").
   */
  async resolveDelivery(
    id: string,
    verdict: "sent" | "failed" | "resend",
    options: ResolveOptions = {},
  ): Promise<Exclude<ResolveAnswer, "not_found">> {
    refuseUnknown(options, ["by", "reason"], "resolveDelivery");
    oneOf(verdict, ["sent", "failed", "resend"], "verdict", "resolveDelivery");
    const by = options.by === undefined ? undefined : nameOf(options.by, "by");
    const reason = options.reason === undefined ? undefined : checkReason(options.reason);
    const answer = await this.tools.call(() => resolveMessage(this.tools.db, checkJobId(id), verdict, by, reason));
    if (answer === "not_found") throw new MessageNotFoundError(id);
    return answer;
  }

  /** Changes a tenant's weight and limits. What is left out stays as it is; null takes a limit away. */
  async setTenant(tenant: string, settings: TenantSettings): Promise<void> {
    return this.#setGate("tenant", nameOf(tenant, "tenant"), checkGateSettings(settings, "tenant", "setTenant"));
  }

  /** Changes a queue's limits, across the fleet. */
  async setQueue(queue: string, settings: GateSettings): Promise<void> {
    return this.#setGate("queue", nameOf(queue, "queue"), checkGateSettings(settings, "queue", "setQueue"));
  }

  /** Changes the limits of a kind of jobs, across the fleet. */
  async setKind(kind: string, settings: GateSettings): Promise<void> {
    return this.#setGate("kind", nameOf(kind, "kind"), checkGateSettings(settings, "kind", "setKind"));
  }

  /** Starts no more jobs of a queue, a kind or a tenant. What runs goes on; what is enqueued waits. */
  async pause(what: GateName): Promise<void> {
    const { scope, name } = checkGateName(what, "pause");
    return this.#setGate(scope, nameOf(name, scope), { paused: true });
  }

  async resume(what: GateName): Promise<void> {
    const { scope, name } = checkGateName(what, "resume");
    return this.#setGate(scope, nameOf(name, scope), { paused: false });
  }

  #setGate(scope: GateScope, name: string, settings: Record<string, unknown>): Promise<void> {
    return this.tools.call(() => setGate(this.tools.db, scope, name, settings));
  }
}
