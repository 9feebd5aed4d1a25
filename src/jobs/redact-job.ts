// A job as it may be shown to people: without what its definition, or the project, says must not be. For the command and the HTTP server; the
// library gives an application its own data as it is.
import type { ErrorRecord } from "../base/error-record.js";
import { createRedactor, type Redactor, withoutSecrets } from "../base/redact.js";
import { isStored } from "../core/job/content-reference.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { LogLine } from "../logs/log-page.js";
import { DELIVERY_KIND } from "../outbox/delivery.js";
import type { MessageDetail } from "../outbox/outbox-statements.js";
import type { JobStep } from "../steps/step-statements.js";
import type { Job } from "./read-jobs.js";

export interface JobRedactor {
  job<Read extends Job>(job: Read): Read;
  /** `payload` of the job that they belong to, where it is at hand: its secrets are looked for in texts. */
  step(job: Pick<Job, "kind" | "payload">, step: JobStep): JobStep;
  line(job: Pick<Job, "kind" | "payload">, line: LogLine): LogLine;
  message<Read extends Pick<MessageDetail, "channel">>(message: Read): Read;
}

/** Instead of an error of a job whose payload is not at hand: a secret of it may be in the text. */
const NOT_FETCHED =
  "(not shown: what of the payload must not be shown is not known here, because it lies in a storage)";

/** `redact`: of the whole project. Definitions add their own. */
export function createJobRedactor(
  redact: readonly string[],
  definitions: Iterable<Pick<JobDefinition, "kind" | "redact">>,
): JobRedactor {
  const everywhere = createRedactor(redact);
  const byKind = redactorsOf(redact, definitions);
  const of = (kind: string): Redactor => byKind.get(kind) ?? everywhere;
  return {
    job: (job) => {
      const redactor = of(job.kind);
      if (!redactor.isActive) return job;
      const secrets = [
        ...redactor.secretsIn(job.payload),
        ...redactor.secretsIn(job.result),
        ...redactor.secretsIn(job.progress),
      ];
      const isElsewhere = isStored(job.payload);
      const shown = <One extends ErrorRecord | null>(error: One): One =>
        isElsewhere && error !== null ? hideError(error, NOT_FETCHED) : withoutSecrets(error, secrets);
      return {
        ...job,
        payload: redactor.value(job.payload),
        progress: redactor.value(job.progress),
        result: redactor.value(job.result),
        error: shown(job.error),
        failures: job.failures.map((failure) => ({ ...failure, error: shown(failure.error) })),
      };
    },
    step: ({ kind, payload }, step) => {
      const redactor = of(kind);
      return { ...step, result: withoutSecrets(redactor.value(step.result), redactor.secretsIn(payload)) };
    },
    line: ({ kind, payload }, line) => {
      const redactor = of(kind);
      const secrets = redactor.secretsIn(payload);
      return {
        ...line,
        message: withoutSecrets(line.message, secrets),
        fields: withoutSecrets(redactor.value(line.fields), secrets),
      };
    },
    message: (message) => {
      const redactor = of(DELIVERY_KIND + message.channel);
      const { payload, answer, attempts } = message as Partial<MessageDetail>;
      if (!redactor.isActive) return message;
      const secrets = redactor.secretsIn(payload);
      return {
        ...message,
        ...(payload !== undefined && { payload: redactor.value(payload) }),
        ...(answer !== undefined && { answer: withoutSecrets(redactor.value(answer), secrets) }),
        ...(attempts !== undefined && { attempts: withoutSecrets(attempts, secrets) }),
      };
    },
  };
}

/** What is left of it says nothing that was in the payload. */
const hideError = <Kept extends Pick<ErrorRecord, "name" | "message" | "code">>(
  { name, code }: Kept,
  text: string,
): Kept => ({ name, message: text, ...(code !== undefined && { code }) }) as Kept;

/** Shows no contents at all, but that there are some: for those who do not know what must not be shown. */
export function hideContents(text: string): JobRedactor {
  const hidden = (value: unknown) => (value === undefined || value === null ? value : text);
  const error = <Kept extends Pick<ErrorRecord, "name" | "message" | "code">>(kept: Kept): Kept =>
    hideError(kept, text);
  return {
    job: (job) => ({
      ...job,
      payload: text,
      progress: hidden(job.progress),
      result: hidden(job.result),
      error: job.error && error(job.error),
      failures: job.failures.map((failure) => ({ ...failure, error: failure.error && error(failure.error) })),
    }),
    step: (_, step) => ({ ...step, result: hidden(step.result) }),
    line: (_, line) => ({ ...line, message: text, fields: {} }),
    message: (message) => {
      const { payload, answer, attempts } = message as Partial<MessageDetail>;
      return {
        ...message,
        ...(payload !== undefined && { payload: text }),
        ...(answer !== undefined && { answer: hidden(answer) }),
        ...(Array.isArray(attempts) && {
          attempts: (attempts as MessageDetail["attempts"]).map((attempt) => ({
            ...attempt,
            ...(attempt.error && { error: error(attempt.error) }),
            ...(attempt.reason !== undefined && { reason: text }),
          })),
        }),
      };
    },
  };
}

/** A redactor for each kind that says more than the project does. */
export function redactorsOf(
  redact: readonly string[],
  definitions: Iterable<Pick<JobDefinition, "kind" | "redact">>,
): Map<string, Redactor> {
  const redactors = new Map<string, Redactor>();
  for (const { kind, redact: own = [] } of definitions)
    if (own.length + redact.length > 0) redactors.set(kind, createRedactor([...redact, ...own]));
  return redactors;
}
