// The listener of a worker: one connection that hears notifications. It only shortens waiting; polling finds the work in any case. A connection that is
// lost is opened again, and the worker looks for work then, because something may have been missed meanwhile. Behind a transaction pooler notifications
// never arrive: that is noticed before listening where the pooler can be told from a server, else by the test at the start, and the worker polls faster.
import { sleep } from "../../base/clock.js";
import { RetryPause } from "../../base/retry.js";
import type { Service } from "../../base/service.js";
import { type ListenConnection, notify, openListener } from "../../db/listen.js";
import type { WorkerContext } from "./worker-context.js";
import type { QueueLane } from "./worker-news.js";

const ANSWER_MS_MAX = 2_000;
const TEST_EVERY_MS = 30_000;
const REOPEN = { firstMs: 1_000, maxMs: 15_000 };
/** The address may lead elsewhere one day. */
const POOLED_MS = 60_000;
const CANCEL = "!cancel ";
const DUE = "!due ";
const LANE = "!lane ";
const TEST = "!test ";
/** Then the worker that did it, and what it saw. */
const RESTED = "!rested ";
const ALERTS = "!alerts ";
/** Then what became of it, for a turn the worker whose it is, and its name. */
const PROVIDER = "!provider ";
const BUDGET = "!budget";

/** A round opens the connection where there is none, and tests whether notifications arrive. */
export class Listener implements Service {
  readonly name = "listening";
  readonly retry = REOPEN;
  readonly #context: WorkerContext;
  readonly #reopen: RetryPause;
  readonly #heard = new Map<string, () => void>();
  #connection: ListenConnection | undefined;
  #wake: () => void = () => {};
  #tests = 0;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #isWorking = false;
  #isPoolerTold = false;

  constructor(context: WorkerContext) {
    this.#context = context;
    this.#reopen = new RetryPause(context.clock, REOPEN);
  }

  connect(wake: () => void): void {
    this.#wake = wake;
  }

  async runOnce(signal: AbortSignal, isOnTime = false): Promise<number> {
    const { clock, trouble } = this.#context;
    // What came in meanwhile left over another connection: the test could say no more.
    const testInMs = this.#heardAtMs + TEST_EVERY_MS - clock.monotonic();
    if (isOnTime && this.#isWorking && testInMs > 0) return testInMs;
    try {
      if (!this.#connection && (await this.#open()) === "pooled") return POOLED_MS * (1 + clock.random());
      if (!signal.aborted && (await this.#test(signal))) {
        this.#setWorking(true);
        this.#reopen.succeeded();
        return TEST_EVERY_MS;
      }
    } catch (error) {
      if (!signal.aborted) trouble(this.name, error);
    }
    this.#setWorking(false);
    await this.#close();
    return this.#reopen.failed();
  }

  stopping(): Promise<void> {
    this.#setWorking(false);
    return this.#close();
  }

  async #close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  async #open(): Promise<"open" | "pooled"> {
    const connection = await openListener(this.#context.db, (payload) => this.#onNotification(payload));
    if (connection === "pooled") {
      this.#tellPooler();
      this.#setWorking(false);
      return "pooled";
    }
    this.#connection = connection;
    void connection.lost.then(() => {
      // The next round notices by its test.
      if (this.#connection === connection) this.#wake();
    });
    return "open";
  }

  #onNotification(payload: string): void {
    const { bus, clock } = this.#context;
    this.#heardAtMs = clock.monotonic();
    if (payload.startsWith(TEST)) this.#heard.get(payload)?.();
    else if (payload.startsWith(CANCEL)) bus.tell("cancelRequested", payload.slice(CANCEL.length));
    else if (payload.startsWith(DUE)) bus.tell("due", Number(payload.slice(DUE.length)) || 0);
    else if (payload.startsWith(LANE)) bus.tell("wakeLane", laneOf(payload.slice(LANE.length)));
    else if (payload.startsWith(RESTED)) this.#onRested(payload.slice(RESTED.length));
    else if (payload.startsWith(ALERTS)) bus.tell("alertsEvaluated", { worker: payload.slice(ALERTS.length) });
    else if (payload.startsWith(PROVIDER)) this.#onProvider(payload.slice(PROVIDER.length));
    // One has room again: jobs that it kept may start.
    else if (payload === BUDGET) bus.tell("wake", undefined);
    else bus.tell("wake", payload);
  }

  #onRested(news: string): void {
    const [worker, rest] = firstWord(news);
    const [nextInMs, emptyQueues] = firstWord(rest);
    this.#context.bus.tell("rested", {
      worker,
      nextInMs: Number(nextInMs) || 0,
      emptyQueues: queuesOf(emptyQueues),
    });
  }

  #onProvider(news: string): void {
    const { bus } = this.#context;
    const [what, rest] = firstWord(news);
    if (what === "turn") {
      const [worker, name] = firstWord(rest);
      return bus.tell("provider", { name, worker });
    }
    bus.tell("provider", { name: rest });
    // Jobs that need it may start.
    if (what === "open") bus.tell("wake", undefined);
  }

  /**
   * Sends a notification to this process: false when it does not arrive. It leaves over another connection, like those of other processes: behind a
   * transaction pooler one over the listener's own would come back although no other ever does.
   */
  async #test(signal: AbortSignal): Promise<boolean> {
    const { clock, db } = this.#context;
    const payload = `${TEST}${process.pid}.${this.#tests++}.${clock.random()}`;
    const stopWaiting = new AbortController();
    let isHeard = false;
    this.#heard.set(payload, () => {
      isHeard = true;
      stopWaiting.abort();
    });
    try {
      notify(db, payload).catch(() => stopWaiting.abort());
      await sleep(clock, ANSWER_MS_MAX, AbortSignal.any([stopWaiting.signal, signal]));
      return isHeard;
    } finally {
      this.#heard.delete(payload);
    }
  }

  #tellPooler(): void {
    const { identity, log } = this.#context;
    if (!this.#isPoolerTold)
      log.warn(
        { worker: identity.id },
        "The database is behind a pooler, which passes no notifications on: polling for work. Set DATABASE_DIRECT_URL to an address without it to start new jobs within milliseconds",
      );
    this.#isPoolerTold = true;
  }

  #setWorking(isWorking: boolean): void {
    if (this.#isWorking === isWorking) return;
    this.#isWorking = isWorking;
    this.#context.bus.tell("listening", isWorking);
  }
}

/** From the database's own function. Whatever else may be sent over the channel only wakes the worker. */
function laneOf(text: string): QueueLane | undefined {
  try {
    const [queue, priority, tenant] = JSON.parse(text) as [string, number, string];
    if (typeof queue === "string" && Number.isInteger(priority) && typeof tenant === "string")
      return { queue, priority, tenant };
  } catch {}
  return undefined;
}

/** Names of queues; none where the text is of another origin. */
function queuesOf(text: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(text);
    if (Array.isArray(names)) return names.filter((name) => typeof name === "string");
  } catch {}
  return [];
}

function firstWord(text: string): [word: string, rest: string] {
  const space = text.indexOf(" ");
  return [text.slice(0, space), text.slice(space + 1)];
}
