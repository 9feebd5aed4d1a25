// Waiting in tests: for a named event or for a fact in the database, with a deadline, never for a length of time.
import type { EventEmitter } from "node:events";

/** Ends what hangs, and measures nothing: a busy machine may take its time. */
const DEADLINE_MS = 120_000;

/** Resolves with the event's value when `matches` says so. */
export function waitForEvent<Events extends Record<string, unknown[]>, Name extends keyof Events & string>(
  emitter: EventEmitter<Events>,
  name: Name,
  matches: (value: Events[Name][0]) => boolean = () => true,
  deadlineMs = DEADLINE_MS,
): Promise<Events[Name][0]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => finish(() => reject(new Error(`No event "${name}" within ${deadlineMs} ms.`))),
      deadlineMs,
    );
    const listener = (value: Events[Name][0]) => {
      if (matches(value)) finish(() => resolve(value));
    };
    const finish = (then: () => void) => {
      clearTimeout(timer);
      (emitter as EventEmitter).off(name, listener);
      then();
    };
    (emitter as EventEmitter).on(name, listener);
  });
}

/** The pause between two questions spares the machine: short at first, later a twentieth of the time waited. Nothing depends on its length. */
const pauseMs = (waitedMs: number) => Math.min(10 + waitedMs / 20, 100);

/** Asks again and again until the answer is truthy. */
export async function waitUntil<T>(
  what: string,
  ask: () => Promise<T> | T,
  deadlineMs = DEADLINE_MS,
): Promise<NonNullable<T>> {
  const begun = performance.now();
  for (;;) {
    const answer = await ask();
    if (answer) return answer as NonNullable<T>;
    const waitedMs = performance.now() - begun;
    if (waitedMs > deadlineMs) throw new Error(`Not within ${deadlineMs} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs(waitedMs)));
  }
}
