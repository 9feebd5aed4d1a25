// One try to send a webhook: its time limits, its connection, and how far it came.
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Clock } from "../../base/clock.js";
import type { WebhookAnswer } from "./answer.js";
import { WebhookUncertainError, WebhookUnreachableError } from "./webhook-errors.js";

export class Attempt {
  readonly #origin: string;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#stop("it was told to stop", this.#signal?.reason);
  readonly #timers: (() => void)[] = [];
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  /** From here on a part of the message may have arrived. */
  #isConnected = false;
  #stopped: { readonly what: string; readonly cause: unknown } | undefined;
  #reject: ((error: Error) => void) | undefined;

  constructor(origin: string, clock: Clock, signal: AbortSignal | undefined) {
    this.#origin = origin;
    this.#clock = clock;
    this.#signal = signal;
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Stops the attempt after the time; the returned function forgets it. */
  limit(ms: number, what: string): () => void {
    const forget = this.#clock.after(ms, () => this.#stop(what, undefined));
    this.#timers.push(forget);
    return forget;
  }

  /** The work, or the reason why it was stopped: not everything can be interrupted. */
  orStopped<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
      if (this.#stopped) reject(this.#failure());
    });
  }

  /** Sends the body and waits for the head of the answer. */
  exchange(request: ClientRequest, body: Buffer, onConnect: () => void): Promise<IncomingMessage> {
    this.#request = request;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      const connected = () => {
        this.#isConnected = true;
        onConnect();
      };
      request.on("socket", (socket) => socket.once("encrypted" in socket ? "secureConnect" : "connect", connected));
      request.on("response", (response) => {
        this.#response = response;
        resolve(response);
      });
      request.on("error", (error) => reject(this.#failure(error)));
      // Answers that no receiver of webhooks gives; without a listener the connection would just vanish.
      request.on("upgrade", (_, socket) => {
        socket.destroy();
        reject(this.#failure(new Error("it wants to speak another protocol")));
      });
      request.on("close", () => reject(this.#failure(new Error("the connection ended without an answer"))));
      if (this.#stopped) return reject(this.#failure());
      request.end(body);
    });
  }

  /** From here on nothing can change the status: being stopped only cuts the text. */
  async readToEnd(reading: Promise<WebhookAnswer>): Promise<WebhookAnswer> {
    if (this.#stopped) this.#response?.destroy();
    return reading;
  }

  end(): void {
    for (const forget of this.#timers) forget();
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#reject = undefined;
    this.#request?.destroy();
  }

  #stop(what: string, cause: unknown): void {
    if (this.#stopped) return;
    this.#stopped = { what, cause };
    this.#reject?.(this.#failure());
    this.#request?.destroy();
    this.#response?.destroy();
  }

  #failure(error?: Error): Error {
    const what = this.#stopped?.what ?? describe(error);
    const cause = this.#stopped?.cause ?? error;
    return this.#isConnected
      ? new WebhookUncertainError(this.#origin, what, { cause })
      : new WebhookUnreachableError(this.#origin, what, cause);
  }
}

/** The code says it; messages of the system name addresses, which are nobody's business. */
function describe(error: Error | undefined): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" ? `the connection failed (${code})` : (error?.message ?? "the connection failed");
}
