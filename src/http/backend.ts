// What the routes stand on: a client whose tools they use, databases that give up after a while, and what other rooms read. The one place that knows how
// a client is made inside: what is renamed there is renamed here.
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import { Client, type ClientOptions } from "../client/client.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Database } from "../db/database.js";
import { sqlStateOf } from "../db/failures.js";
import type { EventHub } from "./event-hub.js";
import type { Gatekeeper } from "./gatekeeper.js";
import type { Readers } from "./readers.js";
import type { Signer } from "./signing.js";

class OpenClient extends Client {
  get inner() {
    return this.tools;
  }
}

export type Tools = OpenClient["inner"];

/** A link of the user's own beside a job. */
export interface JobLink {
  readonly label: string;
  readonly url: string;
}

export interface Backend extends Readers {
  readonly client: Client;
  readonly tools: Tools;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For writes, which are short by themselves. */
  readonly db: Database;
  /** For single things: five seconds. */
  readonly view: Database;
  /** For lists: two seconds, and then a notice. */
  readonly lists: Database;
  readonly definitions: ReadonlyMap<string, JobDefinition>;
  readonly tokens: Signer | undefined;
  readonly links: ((job: { id: string; kind: string; tenant: string }) => readonly JobLink[]) | undefined;
  /** Takes out what nobody should read; the same value where there is nothing. */
  readonly redact: ((value: unknown) => unknown) | undefined;
  readonly gatekeeper: Gatekeeper;
  readonly events: EventHub;
  /** Goes on with bulk actions in the background. */
  readonly driveBulk: (id: string) => void;
}

export const VIEW_MS_MAX = 5_000;
export const LIST_MS_MAX = 2_000;

export function openClient(options: ClientOptions): { client: Client; tools: Tools } {
  const client = new OpenClient(options);
  return { client, tools: client.inner };
}

/**
 * The database, each statement in a transaction that the server ends after so long. It has what statements of the rooms call: `query`. The limit is
 * the transaction's own, so it holds behind a pooler and leaks to no other session.
 */
export function limited(db: Database, msMax: number): Database {
  const query = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    db.transaction(async (tx) => {
      await tx.query(
        "select set_config('statement_timeout', $1, true), set_config('transaction_read_only', 'on', true)",
        [String(msMax)],
      );
      return (await tx.query(text, [...values])).rows as Row[];
    });
  return { schema: db.schema, query } as unknown as Database;
}

/** The server ended the statement: it took too long. */
export const wasTooSlow = (error: unknown): boolean => sqlStateOf(error) === "57014";
