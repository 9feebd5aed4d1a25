// Something that a supervisor does now and then, until it stops.
import { type Clock, sleep } from "../base/clock.js";

export async function repeat(
  clock: Clock,
  everyMs: number,
  round: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(clock, everyMs, signal);
    if (signal.aborted) return;
    await round();
  }
}
