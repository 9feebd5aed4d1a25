// What the answer of a service means for the call, and for the job that made it.
import { NonRetryableError } from "fairmill";
import type { CallContext } from "fairmill/observe";

/** The service did not do it now. Its status and its wait are read by `ctx.call`: a 429 closes the provider for the fleet, a 5xx counts for its breaker. */
class ServiceBusyError extends Error {
  override readonly name = "ServiceBusyError";
  readonly code = "STICKERS_SERVICE_BUSY";
  readonly status: number;
  readonly headers: Headers;
  readonly retryAfterMs: number | undefined;
  constructor(service: string, { status, headers }: Response, body: string) {
    super(`The service ${service} answered ${status}.`);
    this.status = status;
    this.headers = headers;
    this.retryAfterMs = retryDelayOf(body);
  }
}

/** The service will never do it: the request itself is refused. The job is dead at once. */
export class ServiceRefusedError extends NonRetryableError {
  override readonly code = "STICKERS_SERVICE_REFUSED";
}

/** Statuses that say something of the service, not of this request. */
const isOfService = (status: number): boolean => [401, 403, 408, 429].includes(status) || status >= 500;

/** The answer when it is good. */
export async function goodAnswer({ check, cost, provider }: CallContext, answer: Response): Promise<Response> {
  if (answer.ok) return check(answer);
  const text = (await answer.text().catch(() => "")).slice(0, 2_000);
  if (isOfService(answer.status)) throw new ServiceBusyError(provider.name, answer, text);
  // Refused requests are not charged.
  cost(0);
  throw new ServiceRefusedError(`The service ${provider.name} answered ${answer.status}: ${text.slice(0, 300)}`);
}

/** In the body, as Google's services write it: `"retryDelay": "17s"`. Headers are read by `ctx.call`. */
export function retryDelayOf(body: string): number | undefined {
  const seconds = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}
