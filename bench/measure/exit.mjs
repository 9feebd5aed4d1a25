// C10, the exit criterion: four workers, a mixed load with failures. The fault programme without faults; BENCH_EXIT_SECONDS says how long, 300 unless set.
import { runProgramme } from "../../chaos/programme.mjs";

const SEED = 1;
const JOBS_PER_SECOND = 60;
const SECONDS = 300;

export async function measure(bench) {
  const seconds = Number(process.env.BENCH_EXIT_SECONDS ?? bench.size(SECONDS));
  bench.say(`four workers under a mixed load for ${seconds} s`);
  const { figures, problems } = await runProgramme({
    seconds,
    seed: SEED,
    faults: [],
    jobsPerSecond: JOBS_PER_SECOND,
    say: bench.say,
    signal: bench.signal,
  });
  const row = {
    jobs: figures.jobs,
    "most waiting": figures.depthMax,
    "longest lock, s": figures.lockedMs / 1_000,
    ticks: figures.ticks,
    "mean tick, ms": figures.tickMs,
    messages: figures.messages,
    problems: problems.length,
  };
  const about = `Two worker processes, a supervisor with two children and ticks one after the other; ${JOBS_PER_SECOND} calls a second of nine kinds, of twelve tenants, for ${seconds} s. Some fail first, some for good; the receiver is busy or breaks off now and then.`;
  return { tables: [{ title: "Exit criterion", about, rows: [row] }], problems };
}
