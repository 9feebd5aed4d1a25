// What the routes stand on: a client, what its parts work with, sessions that give up after a while, and what other rooms read.
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import type { Signer } from "../base/signing.js";
import type { Client } from "../client/client.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Database } from "../db/database.js";
import { sqlStateOf } from "../db/failures.js";
import type { Session } from "../db/session.js";
import type { JobRedactor } from "../jobs/redact-job.js";
import type { EventHub } from "./event-hub.js";
import type { Gatekeeper } from "./gatekeeper.js";
import type { Readers } from "./readers.js";

/** A link of the user's own beside a job. */
/** What links of the application are made of. */
export interface LinkedJob {
  readonly id: string;
  readonly kind: string;
  readonly tenant: string;
  /** Of the span that enqueued it, as tracing backends know it. */
  readonly traceId: string | null;
}

export interface JobLink {
  readonly label: string;
  readonly url: string;
}

export interface Backend extends Readers {
  readonly client: Client;
  readonly context: ClientContext;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For writes, which are short by themselves. */
  readonly db: Database;
  /** For single things: five seconds. */
  readonly view: Session;
  /** For lists: two seconds, and then a notice. */
  readonly lists: Session;
  readonly definitions: ReadonlyMap<string, JobDefinition>;
  readonly tokens: Signer | undefined;
  /** Signs links that answer a question. */
  readonly answers: Signer | undefined;
  readonly links: ((job: LinkedJob) => readonly JobLink[]) | undefined;
  /** Takes out what must not be read; the same value where there is nothing. */
  /** What definitions and the project say must not be shown. */
  readonly redactor: JobRedactor;
  readonly redact: ((value: unknown) => unknown) | undefined;
  readonly gatekeeper: Gatekeeper;
  readonly events: EventHub;
  /** Goes on with bulk actions in the background. */
  readonly driveBulk: (id: string) => void;
  /** The same with tenants that are being erased. */
  readonly driveErasure: (id: string) => void;
}

export const VIEW_MS_MAX = 5_000;
export const LIST_MS_MAX = 2_000;

/** The database as statements of the rooms call it, each in a transaction that may only read and that the server ends after so long. */
export const limited = (db: Database, msMax: number): Session => ({
  schema: db.schema,
  query: (text, values) => db.readWithin(msMax, text, values),
});

/** The server ended the statement: it took too long. */
export const wasTooSlow = (error: unknown): boolean => sqlStateOf(error) === "57014";
