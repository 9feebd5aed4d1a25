// What a kind's limits are, the supervisor tells the database, before the first job of the kind that a handler in this process asks for.
import type { RuleTeller } from "../../core/enqueue/make-job.js";
import type { Ruled } from "../../limits/limit-statements.js";
import type { ChildPorts } from "./child-ports.js";

export class ChildRules implements RuleTeller {
  readonly #ports: ChildPorts;
  readonly #told = new WeakSet<Ruled>();

  constructor(ports: ChildPorts) {
    this.#ports = ports;
  }

  knows(definition: Ruled): boolean {
    return (definition.limits === undefined && definition.uses === undefined) || this.#told.has(definition);
  }

  async tell(definition: Ruled): Promise<void> {
    if (this.knows(definition)) return;
    await this.#ports.tellLimits(definition);
    this.#told.add(definition);
  }
}
