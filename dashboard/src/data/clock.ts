// The one place that knows the time: a signal that moves once a second while the page is seen, and the timers of the page.
import { signal } from "@preact/signals";

export const now = signal(Date.now());

export const after = (ms: number, act: () => void): (() => void) => {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
};

/** How far the server's clock is ahead of this one; ages are counted by the server's. */
let aheadMs = 0;
export function learnServerTime(at: string | null | undefined): void {
  const time = at ? Date.parse(at) : Number.NaN;
  if (Number.isFinite(time)) aheadMs = time - Date.now();
}

function tick(): void {
  if (!document.hidden) now.value = Date.now() + aheadMs;
}
setInterval(tick, 1000);
document.addEventListener("visibilitychange", tick);
