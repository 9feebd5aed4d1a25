// A run that happens in a child: what the supervisor knows of it, and what it does when the child asks for something.
import type { Claim } from "../core/job/claim.js";
import type { Ruled } from "../limits/limit-statements.js";
import type { UsedUnits } from "../limits/use-context.js";
import type { CallAsk, CallEnd } from "../providers/call-keeper.js";
import type { DoneStep, Pause } from "../steps/step.js";
import type { RunPort } from "./border/messages.js";
import { Run, type RunnerOptions, type RunStores } from "./worker-port.js";

export class RemoteRun extends Run {
  /** Its name on the line to the child. */
  readonly number: number;
  /** The runner that made it: a supervisor whose worker was replaced has two for a while. */
  readonly home: object;
  /** When the child was given it; undefined while it waits for one. */
  sentAtMs: number | undefined;
  #isCompleted = false;

  constructor(claim: Claim, startedAtMs: number, number: number, home: object) {
    super(claim, startedAtMs);
    this.number = number;
    this.home = home;
  }

  override get isCompleted(): boolean {
    return this.#isCompleted;
  }

  /** Its handler has settled it in a transaction that may still be open. */
  complete(): void {
    this.#isCompleted = true;
  }
}

/** What children ask for, by name: each is what a run in this process would ask for. */
export interface PortsServed {
  readonly stores: RunStores;
  readonly completer: RunnerOptions["completer"];
}

export function serve({ stores, completer }: PortsServed, run: RemoteRun, port: RunPort, args: readonly unknown[]) {
  const { steps, nodes, tickOf, use, sends, progress, providers } = stores;
  const { claim } = run;
  const isOver = () => run.isDecided;
  switch (port) {
    case "readSteps":
      return steps.read(claim, isOver);
    case "storeStep":
      return steps.store(claim, args[0] as DoneStep, isOver);
    case "pauseStep":
      return steps.pause(claim, args[0] as Pause, isOver);
    case "nodeResult":
      return nodes.result(claim, args[0] as string);
    case "nodeResults":
      return nodes.results(claim, args[0] as string);
    case "caller":
      return nodes.caller(claim);
    case "tick":
      return tickOf(claim);
    case "beginSend":
      return sends.begin(claim, args[0] as string, args[1] as boolean, isOver);
    case "useUnits":
      return use(claim, args[0] as UsedUnits);
    case "dismissProgress":
      return progress.dismiss(claim);
    case "isSettled":
      return completer.isSettled(claim, isOver);
    case "beginCall":
      return providers.begin(claim, args[0] as CallAsk, isOver);
    case "endCall":
      return providers.end(claim, args[0] as CallEnd);
  }
}

/** What no run in particular asks for: the limits of a kind are told before its first job. */
export const tellLimits = ({ rules }: RunStores, args: readonly unknown[]): Promise<void> =>
  rules.tell(args[0] as Ruled);
