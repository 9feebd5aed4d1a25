// A token that may answer one question of one job, and nothing else: for the link in a message to a person who has no credential.
import { type Clock, systemClock } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { nameOf, refuseUnknown } from "../base/settings.js";
import { checkSecrets, Signer } from "../base/signing.js";

export interface AnswerTokenOptions {
  /** How long it is valid, at most "7d"; default "24h". */
  readonly for?: Duration;
  /** Whose link it is, for the record of actions: the person that it is sent to. */
  readonly by?: string;
  /** Default: FAIRMILL_INTERNAL_SECRET. */
  readonly secret?: string;
  /** For tests. */
  readonly clock?: Clock;
}

export interface AnswerToken {
  readonly token: string;
  /** Where the dashboard shows the question, behind its address: the token stands behind the "#", which browsers send to no server. */
  readonly path: string;
  readonly expiresAt: Date;
}

/** What a token may answer. */
export interface AnswerGrant {
  readonly job: string;
  /** The signal that the job waits for. */
  readonly signal: string;
  readonly by: string | undefined;
  /** When the job asked, in milliseconds since 1970: a question that it asks again is another one. undefined: it had not asked yet. */
  readonly askedMs: number | undefined;
  readonly expiresAt: Date;
}

export const ANSWER_TOKEN = "fma_";
const DAYS_7_MS = 7 * 24 * 3_600_000;

/** Makes a token that answers the signal of one job, once. Its holder opens the dashboard's address followed by `path`. */
export function createAnswerToken(id: string, signal: string, options: AnswerTokenOptions = {}): AnswerToken {
  refuseUnknown(options, ["for", "by", "secret", "clock"], "createAnswerToken");
  const secret = options.secret ?? process.env["FAIRMILL_INTERNAL_SECRET"];
  if (secret === undefined)
    throw new ConfigError(
      "secret",
      "createAnswerToken: pass secret, or set FAIRMILL_INTERNAL_SECRET: it signs the token.",
    );
  const by = options.by === undefined ? undefined : nameOf(options.by, "by");
  const what = { job: checkJobId(id), signal: nameOf(signal, "signal"), by, askedMs: undefined };
  const signer = new Signer(checkSecrets(secret, "secret"), "answer");
  return signAnswerToken(signer, options.clock ?? systemClock, what, options.for ?? "24h");
}

export function signAnswerToken(
  signer: Signer,
  clock: Clock,
  { job, signal, by, askedMs }: Omit<AnswerGrant, "expiresAt">,
  lifetime: Duration,
): AnswerToken {
  const ms = toMs(lifetime, "for");
  if (ms < 1 || ms > DAYS_7_MS) throw new ConfigError("for", "for: a token is valid for 1 ms to 7 days.");
  const exp = clock.now() + ms;
  const token = `${ANSWER_TOKEN}${signer.sign({ job, signal, exp, by, at: askedMs })}`;
  return { token, path: `#/answer/${token}`, expiresAt: new Date(exp) };
}

/** What the token may answer; undefined: it is none of ours, was changed, or is over. */
export function readAnswerToken(signer: Signer, clock: Clock, token: string): AnswerGrant | undefined {
  const content = token.startsWith(ANSWER_TOKEN) ? signer.read(token.slice(ANSWER_TOKEN.length)) : undefined;
  const { job, signal, exp, by, at } = (content ?? {}) as Record<string, unknown>;
  if (typeof job !== "string" || typeof signal !== "string" || typeof exp !== "number") return undefined;
  if (exp <= clock.now()) return undefined;
  return {
    ...{ job, signal, expiresAt: new Date(exp) },
    by: typeof by === "string" ? by : undefined,
    askedMs: typeof at === "number" ? at : undefined,
  };
}
