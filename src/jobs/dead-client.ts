// `client.dead`: dead jobs by a filter, looked at and put back.

import type { ClientContext } from "../core/enqueue/client-context.js";
import { previewRedrive, type Redriven, type RedriveOptions, type RedrivePreview, redrive } from "./redrive.js";
import type { RedriveFilter } from "./redrive-filter.js";

export class Dead {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** What `redrive` would put back: how many, by kind and error, and the oldest of them. Changes nothing. */
  preview(filter: RedriveFilter, options: Pick<RedriveOptions, "after"> = {}): Promise<RedrivePreview> {
    return this.#context.call(() => previewRedrive(this.#context, filter, options));
  }

  /**
   * Runs all dead (or cancelled) jobs that fit again, in bounded batches, each a transaction of its own unless the caller has one. What is
   * left out of the filter is not asked for.
   */
  redrive(filter: RedriveFilter, options: RedriveOptions = {}): Promise<Redriven> {
    return this.#context.call(() => redrive(this.#context, filter, options));
  }
}
