// What handlers in a child log: shown by this process, kept by the supervisor.
import type { Redactor } from "../../base/redact.js";
import type { Claim } from "../../core/job/claim.js";
import type { KeptLevel } from "../../logs/log-statements.js";
import { type RunLogSettings, RunLogs } from "../../logs/run-logs.js";

export class ChildLogs extends RunLogs {
  readonly #send: (claim: Claim, level: KeptLevel, json: string) => void;

  constructor(
    settings: RunLogSettings,
    redactors: ReadonlyMap<string, Redactor>,
    send: (claim: Claim, level: KeptLevel, json: string) => void,
  ) {
    super(settings, redactors);
    this.#send = send;
  }

  override keep(claim: Claim, level: KeptLevel, json: string): void {
    this.#send(claim, level, json);
  }
}
