// What is done to the bot while it draws: worker processes and their supervisor are killed, PostgreSQL crashes. Dice say which, and when.
import { setTimeout as sleep } from "node:timers/promises";
import type { Parts } from "../parts.js";
import type { WorkerProcesses } from "../run/worker-processes.js";
import { stickerJobs } from "./check-fates.js";

export interface Strikes {
  children: number;
  supervisors: number;
  crashes: number;
}
type Strike = keyof Strikes;

/** By `Date.now()`. What it cuts is cut between the two: on a busy machine it takes PostgreSQL seconds to go down. */
export interface StrikeTime {
  readonly from: number;
  readonly to: number;
}

export interface Struck {
  readonly strikes: Strikes;
  readonly times: readonly StrikeTime[];
}

export interface StrikeOptions {
  /** From 0 to 1. */
  readonly random: () => number;
  /** Crashes PostgreSQL and starts it again; not given: it is left alone. */
  readonly crash?: () => Promise<void>;
  readonly say?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** Between two strikes so many requests end, so that there is progress, however slow the machine. */
const ENDED_BETWEEN = { least: 6, most: 14 } as const;
/** Of a hundred strikes; the rest are workers. */
const PERCENT = { supervisors: 25, crashes: 20 } as const;
/** Each comes once before dice decide, so that the shortest of runs has them all. */
const FIRST = ["children", "supervisors", "crashes"] as const satisfies readonly Strike[];
const LOOK_MS = 250;

/** Until so many requests have ended. */
export async function strikeUntilEnded(
  parts: Parts,
  workers: WorkerProcesses,
  requests: number,
  options: StrikeOptions,
): Promise<Struck> {
  const { random, say = () => {}, signal } = options;
  const done: Strikes = { children: 0, supervisors: 0, crashes: 0 };
  const times: StrikeTime[] = [];
  const next = (from: number) =>
    from + ENDED_BETWEEN.least + Math.floor(random() * (ENDED_BETWEEN.most - ENDED_BETWEEN.least + 1));
  for (let strikeAt = next(0); ; await sleep(LOOK_MS)) {
    signal?.throwIfAborted();
    const jobs = await asked(() => stickerJobs(parts.client), signal);
    const ended = jobs.filter(({ endedAt }) => endedAt).length;
    if (ended === requests) return { strikes: done, times };
    if (ended < strikeAt) continue;
    const chosen = FIRST.find((one) => done[one] === 0 && (one !== "crashes" || options.crash)) ?? byDice(options);
    const from = Date.now();
    const struck = await strike(chosen, workers, options);
    if (struck === undefined) continue;
    done[chosen]++;
    times.push({ from, to: Date.now() });
    say(`${ended} ended; ${struck}`);
    strikeAt = next(ended);
  }
}

function byDice({ random, crash }: StrikeOptions): Strike {
  const thrown = random() * 100;
  if (thrown < PERCENT.supervisors) return "supervisors";
  return crash && thrown < PERCENT.supervisors + PERCENT.crashes ? "crashes" : "children";
}

/** What was done, in words; undefined: there was nothing to strike. */
async function strike(what: Strike, workers: WorkerProcesses, { crash, signal }: StrikeOptions) {
  if (what === "crashes") {
    await crash!();
    return "crashed PostgreSQL";
  }
  const isSupervisor = what === "supervisors";
  const pid = isSupervisor ? workers.killSupervisor() : await asked(() => workers.kill(), signal);
  return pid === undefined ? undefined : `killed ${isSupervisor ? "the supervisor" : "a worker"}, process ${pid}`;
}

/** Asks until the database answers: it may have been crashed a moment ago. */
export async function asked<Answer>(ask: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
  for (let tries = 1; ; tries++)
    try {
      return await ask();
    } catch (error) {
      if (tries >= 40) throw error;
      signal?.throwIfAborted();
      await sleep(LOOK_MS);
    }
}
