// A Fairmill for one test file: a schema of its own, a client, and handlers that run when the test says so. No worker, no timer: time passes
// when the test moves it.
import { randomBytes } from "node:crypto";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError, JobNotFoundError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { silentLogger } from "../base/log.js";
import { refuseUnknown, wholeNumber } from "../base/settings.js";
import { type Client, openClient } from "../client/client.js";
import type { EnqueueOptions } from "../core/enqueue/make-job.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Database } from "../db/database.js";
import type { TickOptions } from "../ticks/tick-settings.js";
import type { Use } from "../worker/worker-middleware.js";
import {
  expectNone,
  expectSome,
  fitsJob,
  fitsMessage,
  short,
  showJob,
  showMessage,
  type Wanted,
} from "./expectations.js";
import { type Drained, KitRunner } from "./kit-runner.js";
import { SchemaTables } from "./schema-tables.js";
import { jobsSince, markNow, messagesSince, type SeenJob, type SeenMessage, type SeenRun, START } from "./seen.js";
import { addressOfServer } from "./test-server.js";

/** What the handlers of the tests need: the settings of their worker, as far as they matter in a test. */
export interface TestKitOptions<Used extends Use = Use>
  extends Pick<
    TickOptions<Used>,
    "databaseUrl" | "handlers" | "channels" | "use" | "codec" | "offload" | "redact" | "logger"
  > {}

const KNOWN = ["databaseUrl", "handlers", "channels", "use", "codec", "offload", "redact", "logger"] as const;
/** Goes before whatever else waits. */
const FIRST = 1000;
const DRAINED_MAX = 1_000;
const WAKE = `
  with woken as (
    update fairmill.step s set wake_at = clock_timestamp() where s.job_id = $1 and s.finished_at is null and s.wake_at > clock_timestamp()
    returning 1)
  update fairmill.job j set run_at = clock_timestamp() where j.id = $1 and j.state = 'scheduled' and (select count(*) from woken) >= 0
  returning j.id`;

/** Makes a schema of its own in a fraction of a second, and a client on it. */
export async function createTestKit<const Used extends Use = []>(options: TestKitOptions<Used> = {}): Promise<TestKit> {
  refuseUnknown(options, KNOWN, "createTestKit");
  const databaseUrl = options.databaseUrl ?? (await addressOfServer());
  const schema = `fairmill_test_${randomBytes(6).toString("hex")}`;
  const { codec, offload, use } = options as TestKitOptions;
  const shared = { ...(codec && { codec }), ...(offload && { offload }), ...(use && { use }) };
  const { client, db } = openClient({ databaseUrl, schema, ...shared });
  try {
    const runner = new KitRunner({ logger: silentLogger, ...(options as TestKitOptions), databaseUrl, schema });
    await client.migrate();
    return new TestKit(client, db, runner, await SchemaTables.read(db), { databaseUrl, schema });
  } catch (error) {
    await db.query("drop schema if exists fairmill cascade").catch(() => {});
    await client.close();
    throw error;
  }
}

export class TestKit {
  readonly client: Client;
  readonly databaseUrl: string;
  readonly schema: string;
  readonly #db: Database;
  readonly #runner: KitRunner;
  readonly #tables: SchemaTables;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(
    client: Client,
    db: Database,
    runner: KitRunner,
    tables: SchemaTables,
    where: { databaseUrl: string; schema: string },
  ) {
    this.client = client;
    this.#db = db;
    this.#runner = runner;
    this.#tables = tables;
    this.databaseUrl = where.databaseUrl;
    this.schema = where.schema;
  }

  /**
   * Enqueues one job, runs one attempt of it and nothing else, and shows what that came to. What the handler enqueues and publishes stays where
   * it is, for `drain` or for the test to look at.
   */
  async run<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    input: In,
    options: EnqueueOptions = {},
  ): Promise<SeenRun<Result>> {
    this.#runner.check(definition.kind);
    const { id } = await this.client.enqueue(definition, input, { priority: FIRST, ...options });
    return this.runAgain<Result>(definition, id);
  }

  /** Runs the next attempt of a job that waits: at once, whatever it sleeps or waits for until a time. */
  async runAgain<Result = unknown>(definition: { readonly kind: string }, id: string): Promise<SeenRun<Result>> {
    this.#runner.check(definition.kind);
    const mark = await markNow(this.#db);
    await this.#db.query(WAKE, [checkJobId(id)]);
    await this.#runner.runOne(definition.kind);
    return this.#seen<Result>(id, mark);
  }

  async #seen<Result>(id: string, mark: Awaited<ReturnType<typeof markNow>>): Promise<SeenRun<Result>> {
    const { client } = this;
    const [job, steps, logs, enqueued, published] = await Promise.all([
      client.job(id),
      client.jobs.steps(id),
      client.jobs.logs(id),
      jobsSince(client, mark),
      messagesSince(client, mark),
    ]);
    if (job === undefined) throw new JobNotFoundError(id);
    return {
      ...{ id, state: job.state, attempt: job.attempt, steps, logs, published },
      result: (job.state === "done" ? job.result : undefined) as Result | undefined,
      error: job.error ?? job.failures.at(-1)?.error ?? undefined,
      enqueued: enqueued.filter((each) => each.id !== id),
    };
  }

  /**
   * Runs all that is due, and what comes of it, until nothing is: jobs that wait for a time, a retry or a signal stay. Refuses to run more than
   * `jobsMax` (1,000), because jobs that enqueue themselves would never end.
   */
  async drain(options: { readonly jobsMax?: number } = {}): Promise<Drained> {
    refuseUnknown(options, ["jobsMax"], "drain");
    return this.#runner.drain(wholeNumber(options.jobsMax ?? DRAINED_MAX, 1, 1_000_000, "jobsMax"));
  }

  /** Lets time pass for the database: delays, sleeps, backoffs, time limits of waits, rates and expiry come nearer. Schedules do not. */
  async advance(by: Duration): Promise<void> {
    const ms = toMs(by, "advance");
    if (!(ms > 0)) throw new ConfigError("advance", "advance: time passes forwards: pass more than 0.");
    await this.#tables.moveTime(ms);
  }

  /** Ends the delay, the sleep or the backoff of one job: the next `drain` runs it. */
  async wake(id: string): Promise<void> {
    const woken = await this.#db.query(WAKE, [checkJobId(id)]);
    if (woken.length > 0) return;
    const job = await this.client.job(id);
    if (job === undefined) throw new JobNotFoundError(id);
    if (job.state !== "ready")
      throw new ConfigError(
        "wake",
        `wake: job ${id} is ${job.state}, and so waits for no time. client.why(id) says more.`,
      );
  }

  /** All jobs of this kit since it was made or cleared, waiting and ended, oldest first. */
  enqueued(definition?: { readonly kind: string }): Promise<SeenJob[]> {
    const wanted = (job: SeenJob) => definition === undefined || job.kind === definition.kind;
    return jobsSince(this.client, START).then((jobs) => jobs.filter(wanted));
  }

  published(channel?: string | NamedChannel): Promise<SeenMessage[]> {
    const name = channel === undefined ? undefined : nameOfChannel(channel);
    return messagesSince(this.client, START).then((all) =>
      all.filter((each) => name === undefined || each.channel === name),
    );
  }

  /** Fails unless a job of this kind was enqueued whose input has these members; returns those that were. */
  async expectEnqueued<In>(
    definition: JobDefinition<In, unknown>,
    input?: PartOf<In>,
    wanted: Wanted = {},
  ): Promise<SeenJob[]> {
    const words = { wanted: inWords(definition.kind, input, wanted), done: "enqueued", show: showJob };
    return expectSome(await this.enqueued(), fitsJob(definition.kind, input, wanted), words);
  }

  async expectNotEnqueued<In>(
    definition: JobDefinition<In, unknown>,
    input?: PartOf<In>,
    wanted: Wanted = {},
  ): Promise<void> {
    const words = { wanted: inWords(definition.kind, input, wanted), done: "enqueued", show: showJob };
    expectNone(await this.enqueued(), fitsJob(definition.kind, input, wanted), words);
  }

  /** Fails unless a message to this channel was published whose content has these members; returns those that were. */
  async expectPublished(
    channel: string | NamedChannel,
    payload?: unknown,
    wanted: Wanted = {},
  ): Promise<SeenMessage[]> {
    const name = nameOfChannel(channel);
    const words = { wanted: inWords(name, payload, wanted), done: "published", show: showMessage };
    return expectSome(await this.published(), fitsMessage(name, payload, wanted), words);
  }

  async expectNotPublished(channel: string | NamedChannel, payload?: unknown, wanted: Wanted = {}): Promise<void> {
    const name = nameOfChannel(channel);
    const words = { wanted: inWords(name, payload, wanted), done: "published", show: showMessage };
    expectNone(await this.published(), fitsMessage(name, payload, wanted), words);
  }

  /** Empties the schema, for the next test: cheaper than a new one. */
  async clear(): Promise<void> {
    await this.#tables.empty();
  }

  /** Removes the schema and closes the connections. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    try {
      await this.#runner.close();
      await this.#db.query("drop schema if exists fairmill cascade");
    } finally {
      await this.client.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Some members of an input, however deep. */
export type PartOf<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Name in keyof T]?: PartOf<T[Name]> }
    : T;

/** What `defineChannel` returned, whatever it sends. */
interface NamedChannel {
  readonly name: string;
}

const nameOfChannel = (channel: string | NamedChannel): string =>
  typeof channel === "string" ? channel : channel.name;

const inWords = (name: string, content: unknown, { tenant }: Wanted): string =>
  `${name}${content === undefined ? "" : ` with ${short(content)}`}${tenant === undefined ? "" : ` for ${tenant}`}`;
