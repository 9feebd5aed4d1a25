// A stream of jobs, stored a few thousand at a time in bounded memory: while one page is on its way, the next is read.
import type { NewJob } from "../job/enqueue-options.js";
import type { JobDefinition } from "../job/job-definition.js";
import type { ClientContext } from "./client-context.js";
import { STATEMENT_CHARS_MAX } from "./enqueue-statements.js";
import { type EnqueueItem, newJobOf } from "./make-job.js";

/** What a stream of jobs came to. */
export interface EnqueuedCount {
  readonly count: number;
  readonly created: number;
}

/** Jobs that are sent at a time. */
const PAGE_ROWS = 2_000;

export async function enqueueStream<In>(
  { codec, chain, contents, storeMany }: Pick<ClientContext, "codec" | "chain" | "contents" | "storeMany">,
  definition: JobDefinition<In, unknown>,
  items: AsyncIterable<EnqueueItem<In>>,
): Promise<EnqueuedCount> {
  let count = 0;
  let created = 0;
  let page: NewJob[] = [];
  let chars = 0;
  let sending: Promise<void> = Promise.resolve();
  const send = async (jobs: NewJob[]) => {
    const stored = await storeMany(jobs);
    count += stored.length;
    for (const one of stored) if (one.created) created++;
  };
  try {
    for await (const item of items) {
      const job = newJobOf(definition, item, codec, chain, contents);
      const ready = job instanceof Promise ? await job : job;
      const kept = contents === undefined ? ready : await contents.keepPayload(ready);
      page.push(kept);
      chars += kept.payload.length;
      if (page.length < PAGE_ROWS && chars < STATEMENT_CHARS_MAX) continue;
      await sending;
      sending = send(page);
      sending.catch(() => {});
      page = [];
      chars = 0;
    }
  } catch (error) {
    // What was stored before the error is stored when the caller sees it, not some time later.
    await sending.catch(() => {});
    throw error;
  }
  await sending;
  if (page.length > 0) await send(page);
  return { count, created };
}
