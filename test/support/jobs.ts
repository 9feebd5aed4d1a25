// What tests ask of jobs and workers again and again.
import {
  type Client,
  createWorker,
  type Handler,
  type Job,
  type JobDefinition,
  type Logger,
  silentLogger,
  type Worker,
  type WorkerEvents,
  type WorkerOptions,
} from "fairmill";
import { isEnded } from "../../src/core/job/states.js";
import { waitForEvent, waitUntil } from "./wait.js";

type Options = Omit<WorkerOptions, "handlers" | "databaseUrl">;

/** Workers that sleep: they found nothing at their last look, and nothing has woken them since. */
const sleeping = new WeakSet<Worker>();
/** Workers to which notifications arrive. */
const listening = new WeakSet<Worker>();

/** A worker that has started; silent, and impatient when it is stopped, unless told otherwise. */
export function startWorker(url: string, handlers: readonly Handler[], options: Options = {}): Promise<Worker> {
  const worker = createWorker({ databaseUrl: url, handlers, logger: silentLogger, grace: "5s", ...options });
  worker.events.on("idle", () => void sleeping.add(worker));
  // A worker that listens again, or no longer, looks once more.
  for (const name of ["claimed", "listening"] as const) worker.events.on(name, () => void sleeping.delete(worker));
  worker.events.on("listening", ({ working }) => void listening[working ? "add" : "delete"](worker));
  return worker.start();
}

/** Resolves when notifications arrive at a worker of `startWorker`: at once if they do. */
export async function listens(worker: Worker): Promise<void> {
  if (!listening.has(worker)) await eventOf(worker, "listening", ({ working }) => working);
}

/** Resolves when a worker of `startWorker` sleeps: at once if it does. The next "idle" of one that sleeps already may be a poll away. */
export async function asleep(worker: Worker): Promise<void> {
  if (!sleeping.has(worker)) await eventOf(worker, "idle");
}

/** What a worker announces next under this name. Ask before what causes it. */
export const eventOf = <Name extends keyof WorkerEvents>(
  worker: Worker,
  name: Name,
  matches: (value: WorkerEvents[Name][0]) => boolean = () => true,
  deadlineMs?: number,
): Promise<WorkerEvents[Name][0]> =>
  waitForEvent<Pick<WorkerEvents, keyof WorkerEvents>, Name>(worker.events, name, matches, deadlineMs);

/** The job, once it has ended in whatever way. */
export const endOf = (client: Client, id: string, deadlineMs?: number): Promise<Job> =>
  waitUntil(
    `job ${id} has ended`,
    async () => {
      const job = await client.job(id);
      return job && isEnded(job.state) ? job : undefined;
    },
    deadlineMs,
  );

/** The job, once it is in this state. */
export const inState = (client: Client, id: string, state: Job["state"]): Promise<Job> =>
  waitUntil(`job ${id} is ${state}`, async () => {
    const job = await client.job(id);
    return job?.state === state ? job : undefined;
  });

/** Enqueues a job and waits until its handler has begun on this worker: in the database it is running a moment earlier. */
export async function begun<In>(
  client: Client,
  worker: Worker,
  definition: JobDefinition<In, unknown>,
  input: In,
): Promise<string> {
  const seen = new Set<string>();
  const note = ({ claim }: WorkerEvents["running"][0]) => void seen.add(claim.id);
  worker.events.on("running", note);
  const { id } = await client.enqueue(definition, input);
  await waitUntil(`job ${id} has begun`, () => seen.has(id));
  worker.events.off("running", note);
  return id;
}

/** A promise and its ends, for handlers that wait for the test's word. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open!: (value: T) => void;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

/** Ends when the signal aborts, with its reason. */
export const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly facts: Record<string, unknown>;
}

/** A logger that keeps what it is told. */
export function keepingLogger(lines: Line[] = [], bindings: object = {}): Logger & { readonly lines: Line[] } {
  const at =
    (level: string) =>
    (facts: object, message = "") =>
      void lines.push({ level, message, facts: { ...bindings, ...facts } });
  return {
    lines,
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (more) => keepingLogger(lines, { ...bindings, ...more }),
  };
}
