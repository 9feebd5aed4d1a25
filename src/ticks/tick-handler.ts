// A tick over HTTP: a function from Request to Response, for Node, Next.js, Deno and whatever else speaks fetch. A caller must know the
// secret; then one call is one tick, and the answer says what it did.
import { systemClock } from "../base/clock.js";
import { FairmillError } from "../base/errors.js";
import { createLogger, type Logger } from "../base/log.js";
import type { Use } from "../worker/worker-middleware.js";
import { isAuthorized } from "./secret.js";
import { callAgain, hopOf } from "./self-call.js";
import type { TickReport } from "./tick-report.js";
import { TickRunner } from "./tick-runner.js";
import {
  checkTickHandlerOptions,
  checkTickOptions,
  type TickHandlerOptions,
  type TickHandlerSettings,
  type TickOptions,
} from "./tick-settings.js";

/** What platforms hand to a function beside the request: it keeps the function alive until the work is done. */
export interface TickPlatform {
  readonly waitUntil?: (work: Promise<unknown>) => void;
}

export interface TickHandler {
  (request: Request, platform?: TickPlatform): Promise<Response>;
  /** One tick, without a request. */
  tick(): Promise<TickReport>;
  /** Closes the connections; for tests and programs that end. */
  close(): Promise<void>;
}

/** Makes a fetch handler that runs a tick for every call with the right secret. */
export function createTickHandler<const Used extends Use = []>(options: TickHandlerOptions<Used>): TickHandler {
  const settings = checkTickHandlerOptions(options as TickHandlerOptions);
  const runner = new TickRunner(options as TickOptions, settings.tick);
  const log = options.logger ?? createLogger();
  const handler = (request: Request, platform?: TickPlatform) =>
    answer(request, platform, { runner, settings, log, clock: options.clock ?? systemClock });
  return Object.assign(handler, { tick: () => runner.runOnce(), close: () => runner.close() });
}

/** One tick from a program: what `fairmill tick` does. */
export async function runTick<const Used extends Use = []>(options: TickOptions<Used>): Promise<TickReport> {
  const runner = new TickRunner(options as TickOptions, checkTickOptions(options as TickOptions));
  try {
    return await runner.runOnce();
  } finally {
    await runner.close();
  }
}

interface Tools {
  readonly runner: TickRunner;
  readonly settings: TickHandlerSettings;
  readonly log: Logger;
  readonly clock: typeof systemClock;
}

async function answer(request: Request, platform: TickPlatform | undefined, tools: Tools): Promise<Response> {
  const { settings, log, runner } = tools;
  if (request.method !== "GET" && request.method !== "POST")
    return refuse(405, "FAIRMILL_METHOD", "A tick is called by GET or POST.", { allow: "GET, POST" });
  if (!isAuthorized(request.headers, settings.secretDigests)) {
    // Neither the guess nor where it came from: that is the platform's log.
    log.warn({ method: request.method }, "A call of the tick without the right secret was refused");
    return refuse(
      401,
      "FAIRMILL_UNAUTHORIZED",
      "The secret is missing or wrong: send it as x-internal-secret, or as Authorization: Bearer.",
    );
  }
  if (settings.respond === "early") {
    goOn(afterAnswer(hopOf(request.headers), tools), platform, settings);
    return json(202, { accepted: true });
  }
  try {
    return json(200, shown(await runner.runOnce()));
  } catch (error) {
    return failed(error, log);
  }
}

/** Work behind an early answer: the platform is told of it, where it wants to know. */
function goOn(work: Promise<void>, platform: TickPlatform | undefined, settings: TickHandlerSettings): void {
  const { EdgeRuntime: edge } = globalThis as { EdgeRuntime?: TickPlatform };
  if (settings.waitUntil) settings.waitUntil(work);
  else if (typeof platform?.waitUntil === "function") platform.waitUntil(work);
  else edge?.waitUntil?.(work);
}

async function afterAnswer(hop: number, { runner, settings, log, clock }: Tools): Promise<void> {
  const { selfCall, secret, tick } = settings;
  const beside: Promise<void>[] = [];
  try {
    const report = await runner.runOnce((ready) => {
      // The first call alone brings others about, so that what follows from it is at most `parallel` rows of `hopsMax` calls.
      if (selfCall === undefined || hop > 0) return;
      for (let n = besideOf(ready, tick); n > 0; n--)
        beside.push(callAgain(selfCall.url, secret, 1, clock).catch((error: unknown) => void failed(error, log)));
    });
    // A tick that got nothing would be followed by one that gets nothing, either.
    if (selfCall && report.remaining > 0 && report.claimed > 0 && hop < selfCall.hopsMax)
      await callAgain(selfCall.url, secret, hop + 1, clock);
  } catch (error) {
    failed(error, log);
  } finally {
    await Promise.all(beside);
  }
}

/** How many more ticks have something to do beside one that found so many jobs. */
const besideOf = (ready: number, { parallel = 1, jobsMax }: TickHandlerSettings["tick"]): number =>
  Math.min(parallel, Math.ceil(ready / jobsMax)) - 1;

/** As the contract of the answer says; the worker's name is in the row and in the log. */
const shown = ({ worker: _, ...report }: TickReport) => report;

/** What is wrong is in the log; a caller is told the code alone, and whether to come again. */
function failed(error: unknown, log: Logger): Response {
  const code = error instanceof FairmillError ? error.code : "FAIRMILL_UNEXPECTED";
  log.error({ code, error: error instanceof Error ? error.message : String(error) }, "The tick failed");
  const isUnreachable = code === "FAIRMILL_DATABASE_UNREACHABLE";
  return refuse(isUnreachable ? 503 : 500, code, "The tick failed: the log of the function says why.");
}

const refuse = (status: number, code: string, message: string, headers: Record<string, string> = {}): Response =>
  json(status, { error: { code, message } }, headers);

function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  });
}
