// What publishing needs to know of a channel: its name, and the job that delivers its messages.
import type { JobDefinition } from "../core/job/job-definition.js";

/** A checked channel, as far as publishing goes. `In` is what publish takes. */
export interface ChannelTarget<In = unknown> {
  readonly name: string;
  /** Of the jobs that deliver its messages. */
  readonly definition: JobDefinition<In, unknown>;
}
