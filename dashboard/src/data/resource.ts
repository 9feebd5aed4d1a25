// What a screen reads: the answer to one address, kept while the page lives, so that going back shows it at once and refreshes behind.
// A live resource asks again when the server says that something changed, at most every two seconds, never while the page is hidden, and the less
// often the longer its answers take: looking never costs more than a twentieth of the time.
import { type Signal, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Answer, getJson, type Problem } from "./api";
import { after } from "./clock";
import { pulse, type Topic } from "./live";
import { restMs } from "./rest";

export interface Resource<T> {
  readonly data: T | undefined;
  readonly problem: Problem | undefined;
  readonly loading: boolean;
  readonly reload: () => void;
}

interface Entry {
  readonly answer: Signal<{ data?: unknown; problem?: Problem }>;
  readonly loading: Signal<boolean>;
  users: number;
  abort: AbortController | undefined;
  /** The server said that something changed while it rests. */
  again: boolean;
  /** It was asked for anew, after an action or by hand, while an older question is under way. */
  anew: boolean;
  isResting: boolean;
  /** How long the last answer took. */
  tookMs: number;
}

const ENTRIES_MAX = 60;
const entries = new Map<string, Entry>();

function entryOf(path: string): Entry {
  const known = entries.get(path);
  if (known) return known;
  const entry: Entry = {
    answer: signal({}),
    loading: signal(false),
    users: 0,
    abort: undefined,
    again: false,
    anew: false,
    isResting: false,
    tookMs: 0,
  };
  entries.set(path, entry);
  for (const [old, { users }] of entries) {
    if (entries.size <= ENTRIES_MAX) break;
    if (users === 0 && old !== path) entries.delete(old);
  }
  return entry;
}

async function load(path: string, entry: Entry): Promise<void> {
  if (entry.loading.peek()) {
    entry.anew = true;
    return;
  }
  entry.loading.value = true;
  entry.abort = new AbortController();
  const askedMs = performance.now();
  try {
    const answer: Answer<unknown> = await getJson(path, entry.abort.signal);
    // What was read before stays on the screen beside the failure.
    entry.tookMs = performance.now() - askedMs;
    entry.answer.value = answer.ok ? { data: answer.value } : { ...entry.answer.peek(), problem: answer.problem };
  } catch {
    // The screen was left before the answer came.
  }
  entry.loading.value = false;
  if (entry.anew && entry.users > 0) {
    entry.anew = false;
    await load(path, entry);
  }
}

/** Ask again soon; many hints within the time are one question. */
function nudge(path: string, entry: Entry): void {
  if (entry.isResting) {
    entry.again = true;
    return;
  }
  // It rests from when the answer is there, so that a slow one is not asked for again at once.
  entry.isResting = true;
  load(path, entry).then(() => {
    after(restMs(entry.tookMs), () => {
      entry.isResting = false;
      if (!entry.again || entry.users === 0) return;
      entry.again = false;
      nudge(path, entry);
    });
  });
}

export function useResource<T>(path: string | null, topics: readonly Topic[] = []): Resource<T> {
  const entry = path === null ? undefined : entryOf(path);
  const listens = topics.join();
  useEffect(() => {
    if (path === null || !entry) return;
    entry.users += 1;
    // There is nothing to show yet: a screen that was left before its answer came does not wait for the rest to be over.
    if (entry.isResting && entry.answer.peek().data === undefined) load(path, entry);
    else nudge(path, entry);
    return () => {
      entry.users -= 1;
      if (entry.users === 0) entry.abort?.abort();
    };
  }, [path]);
  const beat = listens === "" ? 0 : pulse(listens.split(",") as Topic[]);
  useEffect(() => {
    if (path !== null && entry && beat > 0) nudge(path, entry);
  }, [path, beat]);
  const answer = entry?.answer.value ?? {};
  return {
    data: answer.data as T | undefined,
    problem: answer.problem,
    loading: entry?.loading.value ?? false,
    reload: () => path !== null && entry && load(path, entry),
  };
}

/** After an action: everything that is on the screen is asked again. */
export function refreshAll(): void {
  for (const [path, entry] of entries) {
    if (entry.users > 0) load(path, entry);
    else entries.delete(path);
  }
}
