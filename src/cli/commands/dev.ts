// `fairmill dev`: everything that a project needs while it is written: PostgreSQL, the schema, the dashboard, and a worker that is replaced by
// a new one when a file of the project changes.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { EmbeddedPostgres } from "../../embedded/index.js";
import { type Call, defineCommand } from "../command.js";
import { CONFIG_NAMES, exists, findConfig, shownPath } from "../config-file.js";
import { type DevDashboard, startDevDashboard } from "../dev-dashboard.js";
import { type DevFacts, type DevProcess, startDevProcess } from "../dev-process.js";
import type { ExitCode } from "../failure.js";
import type { Output } from "../output.js";
import { catchSignals, type Signals } from "../signals.js";
import { EMBEDDED_FOLDER, schemaSaid, shownUrl, urlOfEnvironment, withClient } from "../target.js";
import { WatchedFiles } from "../watch-files.js";
import { declareWorkerFlags, sayStopping, type WorkerFlags } from "../worker-from-config.js";

export const dev = defineCommand<WorkerFlags>({
  name: "dev",
  summary: "PostgreSQL, the schema, the dashboard and a worker for a project that is being written",
  description: `Starts a PostgreSQL of the project's own in ${EMBEDDED_FOLDER}, unless --database-url or DATABASE_URL names another one;
applies the schema; serves the dashboard on this machine; runs the handlers of the config, and restarts them when the config or a file that it imports
changes. Ctrl-C stops all of it. The data stays for the next time.`,
  examples: [
    ["fairmill dev", "start; other commands in this folder find the same database"],
    ["DATABASE_URL=postgres://… fairmill dev", "with a PostgreSQL that runs already"],
  ],
  declare: declareWorkerFlags,
  run: async (call) => {
    const path = await findConfig(call.options.config);
    const given = call.options.databaseUrl ?? urlOfEnvironment();
    const signals = catchSignals(() => sayStopping(call.out));
    let postgres: EmbeddedPostgres | undefined;
    try {
      postgres = given === undefined ? await startPostgres(path) : undefined;
      return await untilStopped(call, { path, databaseUrl: given ?? postgres!.url, postgres, signals });
    } finally {
      await postgres?.stop();
      signals.release();
    }
  },
});

interface Place {
  readonly path: string | undefined;
  readonly databaseUrl: string;
  readonly postgres: EmbeddedPostgres | undefined;
  readonly signals: Signals;
}

async function untilStopped(call: Call<WorkerFlags, []>, place: Place): Promise<ExitCode> {
  const { options, out } = call;
  const { databaseUrl, path, postgres } = place;
  const facts = { databaseUrl: shownUrl(databaseUrl), embedded: postgres !== undefined };
  if (path === undefined) {
    const schema = schemaSaid(options);
    const applied = await withClient({ databaseUrl, schema }, (client) => client.migrate());
    const dashboard = startDevDashboard(placeArguments(call, path), databaseUrl);
    try {
      const url = await dashboard.url;
      out.result({ ...facts, applied, dashboard: url ?? null, worker: null }, wordsOf(place, { applied }, url));
      await place.signals.first;
    } finally {
      await dashboard.stop();
    }
    return 0;
  }
  const worker = new ReloadedWorker(processArguments(call, path), databaseUrl, out);
  let dashboard: DevDashboard | undefined;
  try {
    const ready = await Promise.race([worker.start(), place.signals.first]);
    if (ready) {
      // Only now: a config that cannot be loaded is told once, by the worker.
      dashboard = startDevDashboard(placeArguments(call, path), databaseUrl);
      const [url, id] = await Promise.all([dashboard.url, worker.id]);
      out.result({ ...facts, applied: ready.applied, dashboard: url ?? null, worker: id }, wordsOf(place, ready, url));
    }
    await Promise.race([place.signals.first, worker.failed]);
  } finally {
    await Promise.all([worker.stop(), dashboard?.stop()]);
  }
  return worker.hasFailed ? 1 : 0;
}

/** The process that runs the handlers now, and the next one when a file changed. */
class ReloadedWorker {
  readonly #args: readonly string[];
  readonly #databaseUrl: string;
  readonly #out: Output;
  readonly #files = new WatchedFiles((changed) => void this.#reload(changed));
  #now: DevProcess | undefined;
  readonly #ending = new Set<Promise<void>>();
  #reloading: Promise<void> = Promise.resolve();
  #isStopping = false;
  hasFailed = false;
  /** Settles when the very first process could not start. */
  readonly failed: Promise<void>;
  #fail = () => {};

  constructor(args: readonly string[], databaseUrl: string, out: Output) {
    this.#args = args;
    this.#databaseUrl = databaseUrl;
    this.#out = out;
    this.failed = new Promise((resolve) => {
      this.#fail = resolve;
    });
  }

  get id(): Promise<string | null> {
    return this.#now?.worker ?? Promise.resolve(null);
  }

  async start(): Promise<DevFacts | undefined> {
    const first = this.#spawn();
    this.#now = first;
    const ready = await first.ready;
    this.hasFailed = ready === undefined && !this.#isStopping;
    if (this.hasFailed) this.#fail();
    else this.#sayWhenGone(first);
    return ready;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#files.close();
    await this.#now?.stop();
    await this.#reloading;
    await Promise.all(this.#ending);
  }

  /** One after the other; the running process goes on until the next one has loaded its files. */
  #reload(changed: readonly string[]): void {
    this.#reloading = this.#reloading.then(() => this.#replace(changed));
  }

  async #replace(changed: readonly string[]): Promise<void> {
    if (this.#isStopping) return;
    const names = changed.map(shownPath).join(", ");
    const next = this.#spawn();
    this.#ending.add(next.gone);
    if ((await next.ready) === undefined) {
      if (!this.#isStopping) this.#out.note(`${names} changed and could not be loaded: the worker goes on as it was.`);
      return;
    }
    const before = this.#now;
    this.#now = next;
    if (this.#isStopping) return void next.stop();
    this.#out.note(`${names} changed: a new worker takes over, jobs that run may finish.`);
    if (before !== undefined) this.#ending.add(before.stop());
    this.#sayWhenGone(next);
  }

  /** A handler may end its process. */
  #sayWhenGone(one: DevProcess): void {
    void one.gone.then(() => {
      if (one !== this.#now || this.#isStopping) return;
      this.#out.note("The worker's process ended. A new one starts when a file changes.");
    });
  }

  #spawn(): DevProcess {
    return startDevProcess(this.#args, this.#databaseUrl, (file) => {
      if (!this.#isStopping) this.#files.add(file);
    });
  }
}

const placeArguments = ({ options }: Pick<Call<WorkerFlags, []>, "options">, path: string | undefined): string[] => [
  ...(path === undefined ? [] : ["--config", path]),
  ...(options.schema === undefined ? [] : ["--schema", options.schema]),
];

function processArguments({ options }: Call<WorkerFlags, []>, path: string): string[] {
  const { concurrency, queue = [], grace, json } = options;
  return [
    ...["dev-worker", ...placeArguments({ options }, path)],
    ...(concurrency === undefined ? [] : ["--concurrency", String(concurrency)]),
    ...queue.flatMap((name) => ["--queue", name]),
    ...(grace === undefined ? [] : ["--grace", String(grace)]),
    ...(json ? ["--json"] : []),
  ];
}

async function startPostgres(configPath: string | undefined): Promise<EmbeddedPostgres> {
  const { startEmbedded } = await import("../../embedded/index.js");
  const dataDir = join(configPath === undefined ? process.cwd() : dirname(configPath), EMBEDDED_FOLDER);
  await mkdir(dataDir, { recursive: true });
  // The folder holds data and a password: it ignores itself.
  const ignore = join(dirname(dataDir), ".gitignore");
  if (!(await exists(ignore))) await writeFile(ignore, "*\n");
  return await startEmbedded({ dataDir });
}

function wordsOf(
  { databaseUrl, path, postgres }: Place,
  facts: Pick<DevFacts, "applied"> & Partial<DevFacts>,
  dashboard: string | undefined,
): string {
  const folder = relative(process.cwd(), join(path === undefined ? process.cwd() : dirname(path), EMBEDDED_FOLDER));
  const lines = [`Database  ${shownUrl(databaseUrl)}`];
  if (postgres) {
    lines[0] += `  (PostgreSQL ${postgres.version}, ${whereIs(postgres, folder)})`;
    lines.push(`App       export DATABASE_URL="$(node -p 'require("./${folder}/connection.json").url')"`);
    if (facts.otherDatabase)
      lines.push("Note      the config's databaseUrl is not used: dev takes its own PostgreSQL or DATABASE_URL");
  }
  lines.push(`Schema    ${facts.applied.length === 0 ? "up to date" : "brought up to date"}`);
  if (dashboard !== undefined) lines.push(`Dashboard ${dashboard}`);
  if (path === undefined) lines.push(`Worker    none: there is no ${CONFIG_NAMES[0]} here or above`);
  else if (!facts.hasHandlers) lines.push(`Worker    none: ${shownPath(path)} has no handlers`);
  lines.push("Ctrl-C stops everything.");
  return lines.join("\n");
}

/** The data lie elsewhere when the user that runs PostgreSQL cannot enter the project's folder. */
function whereIs(postgres: EmbeddedPostgres, folder: string): string {
  if (postgres.adopted) return "run by another process here";
  const isHere = postgres.dataDir.includes(join(EMBEDDED_FOLDER, "cluster"));
  return `data in ${isHere ? folder : postgres.dataDir}`;
}
