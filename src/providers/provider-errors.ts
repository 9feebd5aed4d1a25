// Why a call at a provider did not come to an answer.
import { FairmillError, PutBackError } from "../base/errors.js";

export type ClosedWhy = "breaker" | "rate-limit" | "hand";

/** A provider that takes no calls now. */
export interface ClosedProvider {
  readonly provider: string;
  readonly why: ClosedWhy;
  /** How long it is closed; undefined: until it is opened by hand. */
  readonly inMs: number | undefined;
}

/** Where it is unknown when a provider opens. */
const UNKNOWN_MS = 60_000;
const REASONS: Record<ClosedWhy, string> = {
  breaker: "too many calls failed",
  "rate-limit": "it said that it takes no more",
  hand: "it was closed by hand",
};

/** No provider of the chain takes calls now. Thrown out of a handler, the job is run again when one does, and no attempt is spent. */
export class ProviderClosedError extends PutBackError {
  override readonly name = "ProviderClosedError";
  readonly providers: readonly ClosedProvider[];
  constructor(providers: readonly ClosedProvider[], options?: { cause?: unknown }) {
    const said = providers.map(({ provider, why }) => `${provider} (${REASONS[why]})`).join(", ");
    super(
      "FAIRMILL_PROVIDER_CLOSED",
      `Not called: closed is ${said}. The job is put back until then; client.providers.list() shows until when.`,
      Math.min(...providers.map(({ inMs }) => inMs ?? UNKNOWN_MS)),
      options,
    );
    this.providers = providers;
  }
}

/** A call failed, and no other provider of its chain could take it over. */
export class ProviderFailedError extends FairmillError {
  override readonly name = "ProviderFailedError";
  readonly provider: string;
  /** Of the answer, where there was one. */
  readonly status: number | undefined;
  constructor(provider: string, what: string, status?: number, options?: { cause?: unknown }) {
    super("FAIRMILL_PROVIDER_FAILED", `The provider "${provider}" ${what}.`, options);
    this.provider = provider;
    this.status = status;
  }
}

/** A call took longer than the provider's time limit. Whether it was done there is unknown. */
export class ProviderTimeoutError extends FairmillError {
  override readonly name = "ProviderTimeoutError";
  readonly provider: string;
  constructor(provider: string, timeoutMs: number) {
    super("FAIRMILL_PROVIDER_TIMEOUT", `The provider "${provider}" did not answer within ${timeoutMs} ms.`);
    this.provider = provider;
  }
}
