// What crosses the border between a supervisor and its children, in both directions. All of it is plain data: claims go out, verdicts come
// back, and in between a run asks its supervisor for what needs the database. See docs/decisions/0032.
import type { Claim } from "../../core/job/claim.js";
import type { CompletedAnswer } from "../../core/job/effects.js";
import type { Verdict } from "../../core/job/outcome.js";
import type { KeptLevel } from "../../logs/log-statements.js";
import type { Offer } from "./offer.js";
import type { SentEffects } from "./sent-effects.js";

/** Why a run is told to stop, by the code of the error. */
export interface AbortReason {
  readonly code: string;
  readonly message: string;
}

/** What the child needs to know of the supervisor's settings. */
export interface ChildSettings {
  readonly schema: string;
  readonly number: number;
  readonly leaseMs: number;
  readonly abortGraceMs: number;
  readonly stepsMax: number;
  readonly effectsMax: number;
  readonly effectsBytesMax: number;
  readonly keepLogs: KeptLevel | undefined;
  readonly redact: readonly string[];
}

export type ToChild =
  | { readonly type: "begin"; readonly settings: ChildSettings }
  | { readonly type: "run"; readonly run: number; readonly claim: Claim }
  | { readonly type: "abort"; readonly run: number; readonly reason: AbortReason }
  /** The process ends soon: runs with steps end before their next new one, and go on elsewhere. */
  | { readonly type: "yield" }
  | { readonly type: "answer"; readonly call: number; readonly value?: unknown; readonly error?: SentError }
  | { readonly type: "ping"; readonly ping: number }
  /** Ends the process; the supervisor has seen to it that nothing runs any more. */
  | { readonly type: "leave" };

/** Figures of one process, since its start. */
export interface Vitals {
  /** Microseconds of processor time, its threads included. */
  readonly cpuUs: number;
  readonly memoryBytes: number;
  readonly uptimeMs: number;
}

export type FromChild =
  | { readonly type: "ready"; readonly offer: Offer }
  /** The process could not load its handlers; it ends. */
  | { readonly type: "unable"; readonly error: SentError }
  | {
      readonly type: "verdict";
      readonly run: number;
      readonly verdict: Verdict;
      readonly effects: SentEffects | undefined;
      /** The handler has settled its job in a transaction that may still be open. */
      readonly isCompleted: boolean;
      /** The handler ignored its signal, and still runs. */
      readonly isGivenUp: boolean;
      /** What may be logged of the error's message, where secrets of the payload are in it. */
      readonly scrubbed?: string;
    }
  | {
      readonly type: "completed";
      readonly run: number;
      readonly verdict: Verdict;
      readonly returned: CompletedAnswer;
    }
  | { readonly type: "over"; readonly run: number }
  /** The handler asked for a job in a batch. */
  | { readonly type: "registered"; readonly run: number; readonly kind: string; readonly batch: string }
  /** What a handler logged, to be kept. */
  | { readonly type: "log"; readonly run: number; readonly level: KeptLevel; readonly json: string }
  | { readonly type: "progress"; readonly run: number; readonly json: string }
  | {
      readonly type: "call";
      readonly call: number;
      readonly run: number;
      readonly port: PortName;
      readonly args: readonly unknown[];
    }
  /** An error that no handler caught ends the process. */
  | { readonly type: "dying"; readonly error: SentError }
  | { readonly type: "pong"; readonly ping: number; readonly vitals: Vitals };

/** What a run may ask its supervisor for. */
const RUN_PORTS = [
  "readSteps",
  "storeStep",
  "pauseStep",
  "nodeResult",
  "nodeResults",
  "caller",
  "tick",
  "beginSend",
  "useUnits",
  "dismissProgress",
  "isSettled",
  "beginCall",
  "endCall",
] as const;
export type RunPort = (typeof RUN_PORTS)[number];
/** And what concerns no run in particular. */
export type PortName = RunPort | "tellLimits";

export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}
