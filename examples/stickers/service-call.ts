// One call of a paid service over HTTP: its time limit, and what its refusals mean for the job that called.
//
// A provider's breaker, its limits for the whole fleet and its budget belong around `callService`: it is the one door through which the bot
// reaches the picture model and the background remover.
import { NonRetryableError } from "fairmill";

const CALL_MS_MAX = 60_000;

/** The service did not do it now and may do it later. `retryAfterMs` lengthens the backoff of the job that threw it. */
export class ServiceBusyError extends Error {
  override readonly name = "ServiceBusyError";
  readonly code = "STICKERS_SERVICE_BUSY";
  readonly retryAfterMs: number | undefined;
  constructor(service: string, what: string, retryAfterMs?: number, cause?: unknown) {
    super(`${service} ${what}.`, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** The service will never do it: the request itself is refused. The job is dead at once. */
export class ServiceRefusedError extends NonRetryableError {
  override readonly code = "STICKERS_SERVICE_REFUSED";
}

export async function callService(
  service: string,
  url: string,
  request: RequestInit,
  signal: AbortSignal,
): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, { ...request, signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_MS_MAX)]) });
  } catch (error) {
    // The job itself is to stop: no other service is asked in its place.
    signal.throwIfAborted();
    throw new ServiceBusyError(service, "could not be reached", undefined, error);
  }
  if (answer.ok) return answer;
  const text = (await answer.text().catch(() => "")).slice(0, 2_000);
  if (answer.status === 408 || answer.status === 429 || answer.status >= 500)
    throw new ServiceBusyError(service, `answered ${answer.status}`, retryAfterMsOf(answer.headers, text));
  throw new ServiceRefusedError(`${service} answered ${answer.status}: ${text.slice(0, 300)}`);
}

/** In the header, in seconds or as a date; or in the body, as Google's services write it: `"retryDelay": "17s"`. */
export function retryAfterMsOf(headers: Headers, body: string, now = Date.now()): number | undefined {
  const header = headers.get("retry-after");
  if (header !== null) {
    const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
    if (Number.isFinite(ms)) return Math.max(0, ms);
  }
  const seconds = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}
