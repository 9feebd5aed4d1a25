// The only module of the launcher that waits: every wait has an end, and says whether it was reached.

/** A point on the monotonic clock after which waiting stops. */
export interface Deadline {
  /** How much is left; never negative. */
  remainingMs(): number;
  passed(): boolean;
}

export function deadlineIn(ms: number): Deadline {
  const endMs = performance.now() + ms;
  return {
    remainingMs: () => Math.max(0, endMs - performance.now()),
    passed: () => performance.now() >= endMs,
  };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Asks again and again until there is an answer other than `undefined`; gives `undefined` once the deadline has passed. */
export async function askUntil<T>(
  deadline: Deadline,
  everyMs: number,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined || deadline.passed()) return answer;
    await pause(Math.min(everyMs, deadline.remainingMs()));
  }
}

/** Waits for the promise, but not past the deadline; false when the deadline came first. */
export async function settlesBefore(deadline: Deadline, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), deadline.remainingMs());
  });
  try {
    return await Promise.race([promise.then(() => true as const), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
