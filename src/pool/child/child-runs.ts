// The runs of a child: calls handlers as a worker would, and tells the supervisor what they came to. Knows no database and no process: what it
// says goes to `say`, what it is told comes in by `hear`.

import type { Clock } from "../../base/clock.js";
import { serializeResult } from "../../base/json-content.js";
import type { Logger } from "../../base/log.js";
import { FlowNodeReader } from "../../batches/node-reader.js";
import type { Claim } from "../../core/job/claim.js";
import type { Codec } from "../../core/job/codec.js";
import { checkMiddlewares } from "../../core/job/middleware-list.js";
import type { Verdict } from "../../core/job/outcome.js";
import { type Handler, handlerTable } from "../../core/run/handler.js";
import type { DecidedRun, Run, RunEnds } from "../../core/run/run.js";
import type { Completion } from "../../core/run/run-effects.js";
import { Runner } from "../../core/run/runner.js";
import { JobCompleter } from "../../core/settle/completer.js";
import { detailList } from "../../core/settle/verdict-details.js";
import { ContentReports } from "../../core/worker/content-reports.js";
import { createWorkerEmitter } from "../../core/worker/worker-events.js";
import { captureWriter } from "../../credits/capture-context.js";
import { resultSealer } from "../../encryption/seal-result.js";
import { redactorsOf } from "../../jobs/redact-job.js";
import { usedWriter, usesOfKinds } from "../../limits/use-context.js";
import type { OffloadOptions } from "../../offload/content-storage.js";
import { checkOffload } from "../../offload/offload-options.js";
import { contentWriter } from "../../offload/result-content.js";
import type { Channel } from "../../outbox/channel.js";
import { deliveryHandler } from "../../outbox/delivery-handler.js";
import { deliveryWriter } from "../../outbox/delivery-mark.js";
import { contextMembers } from "../../worker/context-members.js";
import { WorkerEffects } from "../../worker/effect-maker.js";
import type { Middleware, Use } from "../../worker/worker-middleware.js";
import type { WorkerOptions } from "../../worker/worker-settings.js";
import type { ChildSettings, FromChild, ToChild } from "../border/messages.js";
import { type Offer, offerOf } from "../border/offer.js";
import { sendEffects } from "../border/sent-effects.js";
import { receiveReason } from "../border/sent-errors.js";
import { ChildLogs } from "./child-logs.js";
import { ChildPorts } from "./child-ports.js";
import { ChildRules } from "./child-rules.js";

/** What a child runs: the part of a config that is code. */
export interface ChildWork {
  readonly handlers?: readonly Handler[] | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a list of channels holds those of all messages.
  readonly channels?: readonly Channel<any, any>[] | undefined;
  readonly use?: Use | undefined;
  readonly codec?: Codec | undefined;
  readonly offload?: OffloadOptions | undefined;
  readonly queues?: WorkerOptions["queues"] | undefined;
  readonly concurrency?: number | undefined;
}

export interface ChildRunsOptions {
  readonly settings: ChildSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly say: (message: FromChild) => void;
}

export class ChildRuns implements RunEnds {
  readonly offer: Offer;
  readonly #say: (message: FromChild) => void;
  readonly #runner: Runner;
  readonly #ports: ChildPorts;
  readonly #contents: ContentReports;
  readonly #logs: ChildLogs;
  readonly #log: Logger;
  readonly #runs = new Map<number, Run>();
  readonly #numbers = new Map<Claim, number>();
  #mustYield = false;

  constructor(work: ChildWork, { settings, clock, log, say }: ChildRunsOptions) {
    const { codec } = work;
    const contents = checkOffload(work.offload, "defineConfig");
    this.#say = say;
    this.#log = log;
    this.#contents = new ContentReports(log, createWorkerEmitter());
    this.#ports = new ChildPorts(
      (call, claim, port, args) =>
        say({ type: "call", call, run: (claim && this.#numbers.get(claim)) ?? 0, port, args }),
      clock,
      settings.stepsMax,
    );
    const middlewares = checkMiddlewares<Middleware>(work.use);
    const deliveries = (work.channels ?? []).map((channel) =>
      deliveryHandler(channel, { keeper: this.#ports, clock, leaseMs: settings.leaseMs, codec }),
    );
    const rules = new ChildRules(this.#ports);
    const definitions = [...(work.handlers ?? []), ...deliveries].map(({ definition }) => definition);
    const logs = new ChildLogs(
      { ...settings, codec },
      redactorsOf(settings.redact, definitions),
      (claim, level, json) => {
        const run = this.#numbers.get(claim);
        if (run !== undefined) say({ type: "log", run, level, json });
      },
    );
    this.#logs = logs;
    const format = {
      seal: codec && resultSealer(codec, log),
      details: detailList({
        delivery: deliveryWriter,
        used: usedWriter,
        captured: captureWriter,
        content: contentWriter,
      }),
    };
    const handlers = handlerTable([...(work.handlers ?? []), ...deliveries], middlewares);
    const { queues, concurrency } = work;
    this.offer = offerOf(definitions, { ...(queues && { queues }), ...(concurrency !== undefined && { concurrency }) });
    this.#runner = new Runner(
      {
        handlers,
        clock,
        logger: log,
        abortGraceMs: settings.abortGraceMs,
        codec,
        contents,
        onProgress: (claim, value) => this.#progress(claim, value),
        onKept: (claim, what, value) => this.#contents.look(claim, what, value),
        members: contextMembers({
          clock,
          codec,
          steps: { keeper: this.#ports, mustYield: () => this.#mustYield },
          nodes: new FlowNodeReader(this.#ports, { codec, contents }),
          tickOf: (claim) => this.#ports.tick(claim),
          use: (claim, used) => this.#ports.use(claim, used),
          uses: usesOfKinds(definitions),
          tell: (definition) => rules.tell(definition),
          log,
          logs,
          calls: this.#ports.calls,
        }),
        maker: new WorkerEffects(rules, { ...settings, codec, contents }, middlewares, (claim, { kind, batch }) =>
          this.#registered(claim, kind, batch),
        ),
        completer: new JobCompleter(this.#ports, settings.schema, format),
      },
      this,
    );
  }

  get size(): number {
    return this.#runs.size;
  }

  hear(message: ToChild): void {
    if (message.type === "run") return this.#begin(message.run, message.claim);
    if (message.type === "answer") return this.#ports.answer(message.call, message.value, message.error);
    if (message.type === "yield") {
      this.#mustYield = true;
      return;
    }
    if (message.type !== "abort") return;
    const run = this.#runs.get(message.run);
    if (run !== undefined) this.#runner.abort(run, receiveReason(message.reason));
  }

  /** The supervisor is gone, or this process ends: handlers are told. */
  abortAll(reason: Error): void {
    for (const run of this.#runs.values()) this.#runner.abort(run, reason);
  }

  #begin(number: number, claim: Claim): void {
    const run = this.#runner.prepare(claim);
    this.#runs.set(number, run);
    this.#numbers.set(claim, number);
    this.#runner.begin(run);
  }

  #progress(claim: Claim, value: unknown): void {
    const run = this.#numbers.get(claim);
    const { json } = serializeResult(value);
    this.#contents.look(claim, "progress", value);
    if (run !== undefined && json !== undefined) this.#say({ type: "progress", run, json });
  }

  #registered(claim: Claim, kind: string, batch: string): void {
    const run = this.#numbers.get(claim);
    this.#log.debug({ worker: claim.worker, kind, batch }, "Job registered in batch");
    if (run !== undefined) this.#say({ type: "registered", run, kind, batch });
  }

  onVerdict(decided: DecidedRun): void {
    const run = this.#numbers.get(decided.claim)!;
    const { effects, isCompleted, isGivenUp } = decided;
    const verdict = this.#plain(decided.claim, decided.verdict);
    const scrubbed = this.#scrubbed(decided.claim, verdict);
    this.#say({ type: "verdict", run, verdict, effects: sendEffects(effects), isCompleted, isGivenUp, ...scrubbed });
  }

  onCompleted(decided: DecidedRun, { returned }: Completion): void {
    const run = this.#numbers.get(decided.claim)!;
    this.#say({ type: "completed", run, verdict: this.#plain(decided.claim, decided.verdict), returned });
  }

  onOver({ claim }: Run): void {
    const run = this.#numbers.get(claim)!;
    this.#runs.delete(run);
    this.#numbers.delete(claim);
    this.#say({ type: "over", run });
  }

  /** A payload that lies in a storage is known here alone. */
  #scrubbed(claim: Claim, verdict: Verdict): { scrubbed: string } | undefined {
    const message = "error" in verdict ? verdict.error?.message : undefined;
    if (message === undefined) return undefined;
    const scrubbed = this.#logs.scrub(claim, message);
    return scrubbed === message ? undefined : { scrubbed };
  }

  /** What handlers and channels return may be anything: as JSON, as it will be kept. */
  #plain(claim: Claim, verdict: Verdict): Verdict {
    const said = verdict.delivery;
    const plain = verdict.verdict === "done" ? { ...verdict, result: this.#asKept(claim, verdict.result) } : verdict;
    return said === undefined ? plain : { ...plain, delivery: { ...said, answer: this.#asKept(claim, said.answer) } };
  }

  #asKept(claim: Claim, value: unknown): unknown {
    if (value === undefined) return undefined;
    const { json, problem } = serializeResult(value);
    this.#contents.look(claim, "result", value);
    const { worker, id: job, kind, tenant, attempt } = claim;
    if (problem !== undefined)
      this.#log.warn({ worker, job, kind, tenant, attempt, problem }, "The job's result was not kept");
    return json === undefined ? undefined : JSON.parse(json);
  }
}
