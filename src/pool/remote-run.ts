// A run that happens in a child: what the supervisor knows of it, and what it does when the child asks for something.
import type { Claim } from "../core/job/claim.js";
import type { KeyRules } from "../limits/key-rules.js";
import type { Ruled } from "../limits/limit-statements.js";
import type { SendKeeper } from "../outbox/delivery.js";
import type { DoneStep, Pause } from "../steps/step.js";
import type { PortName } from "./border/messages.js";
import { Run, type RunnerOptions } from "./worker-port.js";

export class RemoteRun extends Run {
  /** Its name on the line to the child. */
  readonly number: number;
  /** The runner that made it: a supervisor whose worker was replaced has two for a while. */
  readonly home: object;
  /** When the child was given it; undefined while it waits for one. */
  sentAtMs: number | undefined;
  #abortedBy: Error | undefined;
  #isCompleted = false;

  constructor(claim: Claim, startedAtMs: number, number: number, home: object) {
    super(claim, startedAtMs);
    this.number = number;
    this.home = home;
  }

  override get abortedBy(): unknown {
    return this.#abortedBy;
  }

  set abortReason(reason: Error) {
    this.#abortedBy = reason;
  }

  override get isCompleted(): boolean {
    return this.#isCompleted;
  }

  /** Its handler has settled it in a transaction that may still be open. */
  complete(): void {
    this.#isCompleted = true;
  }
}

/** What children ask for, by name: each is one of the ports that a runner in this process would call. */
export interface PortsServed {
  readonly runner: RunnerOptions;
  readonly rules: KeyRules;
  readonly sends: SendKeeper;
}

export function serve({ runner, rules, sends }: PortsServed, run: RemoteRun, port: PortName, args: readonly unknown[]) {
  const { claim } = run;
  const isOver = () => run.isDecided;
  switch (port) {
    case "readSteps":
      return runner.steps.read(claim, isOver);
    case "storeStep":
      return runner.steps.store(claim, args[0] as DoneStep, isOver);
    case "pauseStep":
      return runner.steps.pause(claim, args[0] as Pause, isOver);
    case "nodeResult":
      return runner.nodes.result(claim, args[0] as string);
    case "nodeResults":
      return runner.nodes.results(claim, args[0] as string);
    case "caller":
      return runner.nodes.caller(claim);
    case "tick":
      return runner.tickOf?.(claim);
    case "tellLimits":
      return rules.tell(args[0] as Ruled);
    case "beginSend":
      return sends.begin(claim, args[0] as string, args[1] as boolean, isOver);
    case "dismissProgress":
      return runner.dismissProgress?.(claim);
    case "isSettled":
      return runner.completer.isSettled(claim, isOver);
  }
}
