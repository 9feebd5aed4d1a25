// Children have capacity by queue, and a queue that is full is not helped by another one that is empty: so what counts is the queue that is worst off.

export interface QueueUse {
  /** Jobs that it runs of this queue. */
  runningOf(queue: string): number;
}

/** The queue of which the largest part is busy: its capacity in one child, and what runs of it. */
export function busiestOf(
  serving: readonly QueueUse[],
  capacity: ReadonlyMap<string, number>,
): { readonly capacity: number; readonly busy: number } {
  let worst = { capacity: 1, busy: 0 };
  let most = -1;
  for (const [queue, each] of capacity) {
    const busy = serving.reduce((sum, one) => sum + one.runningOf(queue), 0);
    if (busy / each <= most) continue;
    most = busy / each;
    worst = { capacity: each, busy };
  }
  return worst;
}

/** How often one child would have to fill its capacity to start all that could start: of the queue that is worst off. */
export function wavesOf(runnable: Readonly<Record<string, number>>, capacity: ReadonlyMap<string, number>): number {
  return Math.max(0, ...[...capacity].map(([queue, each]) => (runnable[queue] ?? 0) / each));
}
