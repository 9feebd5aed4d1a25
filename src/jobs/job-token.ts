// A token that may read one job, its state, progress and result, and nothing else: for a browser that waits for its result.
import { type Clock, systemClock } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { refuseUnknown } from "../base/settings.js";
import { checkSecrets, Signer } from "../base/signing.js";

export interface JobTokenOptions {
  /** How long it is valid, at most "24h"; default "10m". */
  readonly for?: Duration;
  /** Default: FAIRMILL_INTERNAL_SECRET. */
  readonly secret?: string;
  /** For tests. */
  readonly clock?: Clock;
}

export interface JobToken {
  readonly token: string;
  readonly expiresAt: Date;
}

export const JOB_TOKEN = "fmj_";
const HOURS_24_MS = 24 * 3_600_000;

/** Makes a token for one job. Its holder reads `GET /api/v1/jobs/{id}/public` until it expires. */
export function createJobToken(id: string, options: JobTokenOptions = {}): JobToken {
  refuseUnknown(options, ["for", "secret", "clock"], "createJobToken");
  const secret = options.secret ?? process.env["FAIRMILL_INTERNAL_SECRET"];
  if (secret === undefined)
    throw new ConfigError(
      "secret",
      "createJobToken: pass secret, or set FAIRMILL_INTERNAL_SECRET: it signs the token.",
    );
  const signer = new Signer(checkSecrets(secret, "secret"), "job");
  return signJobToken(signer, options.clock ?? systemClock, checkJobId(id), options.for ?? "10m");
}

export function signJobToken(signer: Signer, clock: Clock, id: string, lifetime: Duration): JobToken {
  const ms = toMs(lifetime, "for");
  if (ms < 1 || ms > HOURS_24_MS) throw new ConfigError("for", "for: a token is valid for 1 ms to 24 h.");
  const expiresMs = clock.now() + ms;
  return { token: `${JOB_TOKEN}${signer.sign({ job: id, exp: expiresMs })}`, expiresAt: new Date(expiresMs) };
}

/** The job that a token may read; undefined: it is none of ours, or is over. */
export function readJobToken(signer: Signer, clock: Clock, token: string): string | undefined {
  const content = token.startsWith(JOB_TOKEN) ? signer.read(token.slice(JOB_TOKEN.length)) : undefined;
  const { job, exp } = (content ?? {}) as { job?: unknown; exp?: unknown };
  return typeof job === "string" && typeof exp === "number" && exp > clock.now() ? job : undefined;
}
