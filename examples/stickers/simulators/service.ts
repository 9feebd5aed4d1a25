// What the three simulated services share: a real HTTP server on this machine, with a latency, limits, failures and outages that can be changed
// while it runs, and a log of every call that it took.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Weather {
  /** How long an answer takes, in milliseconds: somewhere between the two. */
  latencyMs: readonly [number, number];
  /** More requests in any second are answered with 429. */
  perSecond: number;
  /** More requests at once are answered with 429. */
  inFlightMax: number;
  /** Of a hundred requests, so many fail with 500. */
  failPercent: number;
  /** Everything is answered with 503. */
  isDown: boolean;
}

/** One request, from its arrival to its answer: what a limit or a duplicate is proved with. */
export interface Call {
  readonly at: number;
  readonly route: string;
  readonly status: number;
  readonly inFlight: number;
  /** What the request was about: the same for a repetition. */
  readonly about: string;
}

export interface Taken {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

const BODY_BYTES_MAX = 20 * 2 ** 20;
const LOG_CALLS_MAX = 200_000;

export abstract class SimulatedService {
  readonly weather: Weather;
  readonly log: Call[] = [];
  /** What a refusal says about when to come again. */
  retryAfterSeconds = 1;
  #inFlight = 0;
  #starts: number[] = [];
  readonly #server: Server;
  readonly #random: () => number;

  constructor(weather: Partial<Weather> = {}, random: () => number = Math.random) {
    this.weather = { latencyMs: [50, 150], perSecond: 100, inFlightMax: 50, failPercent: 0, isDown: false, ...weather };
    this.#random = random;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    // Node's five seconds are short: a request that meets the end of its connection is a send whose fate nobody knows.
    this.#server.keepAliveTimeout = 75_000;
  }

  /** Its address, without a slash at the end. */
  async start(port = 0): Promise<string> {
    await new Promise<void>((resolve, reject) => this.#server.once("error", reject).listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  protected abstract answer(request: Taken): Promise<Answer> | Answer;
  /** In the words of this service. */
  protected abstract refuse(status: 429 | 500 | 503, retryAfterSeconds: number): Answer;
  /** What a request is about. */
  protected abstract aboutOf(request: Taken): string;

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.timeOrigin + performance.now();
    const { weather } = this;
    const isOver = this.#isOverLimit(at);
    const inFlight = ++this.#inFlight;
    try {
      const taken = await takenOf(request);
      const answer = await this.#answerIn(taken, isOver || inFlight > weather.inFlightMax);
      if (this.log.length < LOG_CALLS_MAX) {
        const route = `${taken.method} ${taken.path}`;
        this.log.push({ at, route, status: answer.status, inFlight, about: this.aboutOf(taken) });
      }
      response.writeHead(answer.status, answer.headers).end(answer.body);
    } finally {
      this.#inFlight--;
    }
  }

  async #answerIn(taken: Taken, isTooMuch: boolean): Promise<Answer> {
    const { weather } = this;
    if (weather.isDown) return this.refuse(503, this.retryAfterSeconds);
    if (isTooMuch) return this.refuse(429, this.retryAfterSeconds);
    const [least, most] = weather.latencyMs;
    await sleep(least + (most - least) * this.#random());
    return weather.failPercent > 0 && this.#random() * 100 < weather.failPercent
      ? this.refuse(500, this.retryAfterSeconds)
      : answerOf(() => this.answer(taken));
  }

  /** Counts the request in, unless there were enough in the last second. */
  #isOverLimit(at: number): boolean {
    this.#starts = this.#starts.filter((start) => start > at - 1_000);
    if (this.#starts.length >= this.weather.perSecond) return true;
    this.#starts.push(at);
    return false;
  }
}

/** A request that cannot be read is the caller's fault, and no reason to end the simulator. */
async function answerOf(answer: () => Promise<Answer> | Answer): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    return json(400, { ok: false, error_code: 400, description: `Bad Request: ${error}` });
  }
}

/** Rejects when the caller goes away in the middle of its body, as a worker does that is killed. */
async function takenOf(request: IncomingMessage): Promise<Taken> {
  const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "http://simulator");
  return { method: request.method ?? "GET", path, query, headers: request.headers, body: await bodyOf(request) };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(body),
});
