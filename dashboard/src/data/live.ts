// What the server says has changed, by server-sent events. Closed while the page is hidden or the user paused it; opened again and
// everything asked anew when it is seen. A lost connection is opened again by the browser, and shown.
import { signal } from "@preact/signals";
import { apiUrl } from "./api";
import type { BulkAction, Change } from "./contract";

export type Topic = Change["topics"][number];

export const liveState = signal<"live" | "paused" | "hidden" | "lost" | "connecting">("connecting");
export const bulkNews = signal<BulkAction | null>(null);
/** How the last change looked, for the figures of the shell. */
const lastChange = signal<Change | null>(null);

const beats = signal<Readonly<Partial<Record<Topic | "all", number>>>>({});

/** A number that grows whenever one of the topics changed. */
export const pulse = (topics: readonly Topic[]): number => {
  const seen = beats.value;
  return topics.reduce((sum, topic) => sum + (seen[topic] ?? 0), seen.all ?? 0);
};

function beat(topics: readonly (Topic | "all")[]): void {
  const next = { ...beats.peek() };
  for (const topic of topics) next[topic] = (next[topic] ?? 0) + 1;
  beats.value = next;
}

let source: EventSource | undefined;
let pausedByUser = false;

function open(): void {
  if (source || pausedByUser || document.hidden) return;
  source = new EventSource(apiUrl("events"));
  liveState.value = "connecting";
  source.addEventListener("hello", () => {
    liveState.value = "live";
  });
  source.addEventListener("change", (event) => {
    const change = read<Change>(event);
    if (!change) return;
    lastChange.value = change;
    beat(change.topics);
  });
  source.addEventListener("bulk", (event) => {
    bulkNews.value = read<BulkAction>(event);
  });
  source.addEventListener("error", () => {
    liveState.value = "lost";
    // The browser gives up on some answers; the page does not.
    if (source?.readyState === EventSource.CLOSED) source = undefined;
  });
}

function read<T>(event: Event): T | null {
  try {
    return JSON.parse((event as MessageEvent<string>).data) as T;
  } catch {
    return null;
  }
}

function close(state: "paused" | "hidden"): void {
  source?.close();
  source = undefined;
  liveState.value = state;
}

export function startLive(): void {
  open();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close(pausedByUser ? "paused" : "hidden");
    else if (!pausedByUser) {
      open();
      beat(["all"]);
    }
  });
  addEventListener("online", open);
}

export function togglePause(): void {
  if (liveState.value === "lost") {
    source?.close();
    source = undefined;
    open();
    beat(["all"]);
    return;
  }
  pausedByUser = !pausedByUser;
  if (pausedByUser) close("paused");
  else {
    open();
    beat(["all"]);
  }
}
