// What a worker's settings leave without work or without a worker: mostly a name that was misspelled, so it is told at the start.
import type { JobDefinition } from "../job/job-definition.js";

export interface Unserved {
  /** Queues of the worker that are no handler's: their jobs are claimed only if a handler's kind was enqueued there by hand. */
  readonly queues: readonly string[];
  /** Kinds with a handler whose queue this worker does not serve. */
  readonly kinds: readonly string[];
}

export function unservedBy(
  queues: readonly string[],
  definitions: readonly Pick<JobDefinition, "kind" | "queue">[],
): Unserved {
  return {
    queues: queues.filter((queue) => definitions.every((definition) => definition.queue !== queue)),
    kinds: definitions.filter(({ queue }) => !queues.includes(queue)).map(({ kind }) => kind),
  };
}

/** One sentence; undefined: everything fits. */
export function sayUnserved({ queues, kinds }: Unserved): string | undefined {
  const idle = `no handler's job has the queue ${list(queues)}, so this worker finds nothing there`;
  const left = `the handlers of ${list(kinds)} get no jobs, because this worker does not serve their queues`;
  if (queues.length > 0 && kinds.length > 0) return `Check the names of the queues: ${idle}; and ${left}`;
  if (queues.length > 0) return `Check the names of the queues: ${idle}`;
  return kinds.length > 0 ? `Other workers must do the rest: ${left}` : undefined;
}

const list = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");
