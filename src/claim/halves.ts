// A big claim is made as two at once, over two connections: one server process alone would be what everybody waits for.
import type { Probe } from "../store/claim.js";

export interface Half {
  readonly jobsMax: number;
  readonly probes: readonly Probe[];
}

/**
 * Each lane goes to the half that has less to do, one with more than half of the jobs to both: each skips what the other has locked. A
 * half stops at what its lanes were to give of the whole, so that lanes which are only asked in case others run short do not come first.
 */
export function halve(jobsMax: number, probes: readonly Probe[]): Half[] {
  const halves = [0, 1].map(() => ({ jobsMax: 0, probes: [] as Probe[] }));
  const put = (half: (typeof halves)[number], probe: Probe, jobs: number) => {
    half.jobsMax += jobs;
    if (probe.quantum > 0) half.probes.push(probe);
  };
  let left = jobsMax;
  for (const probe of probes) {
    const jobs = Math.min(left, probe.quantum);
    left -= jobs;
    const [less, more] = halves[0]!.jobsMax <= halves[1]!.jobsMax ? [halves[0]!, halves[1]!] : [halves[1]!, halves[0]!];
    if (probe.quantum > jobsMax / 2) {
      put(less, { ...probe, quantum: Math.ceil(probe.quantum / 2) }, Math.ceil(jobs / 2));
      put(more, { ...probe, quantum: Math.floor(probe.quantum / 2) }, Math.floor(jobs / 2));
    } else put(less, probe, jobs);
  }
  return halves.filter((half) => half.jobsMax > 0 && half.probes.length > 0);
}
