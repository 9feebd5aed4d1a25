// `fairmill dev`: everything that a project needs while it is written, in one process: PostgreSQL, the schema, a worker.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { EmbeddedPostgres } from "../../embedded/index.js";
import { type Call, defineCommand } from "../command.js";
import { CONFIG_NAMES, exists, findConfig, type LoadedConfig, shownPath } from "../config-file.js";
import { catchSignals, type Signals } from "../signals.js";
import { EMBEDDED_FOLDER, loadConfigFor, schemaSaid, shownUrl, urlOfEnvironment, withClient } from "../target.js";
import { declareWorkerFlags, sayStopping, type WorkerFlags, workerFrom } from "../worker-from-config.js";

export const dev = defineCommand<WorkerFlags>({
  name: "dev",
  summary: "PostgreSQL, the schema and a worker for a project that is being written",
  description: `Starts a PostgreSQL of the project's own in ${EMBEDDED_FOLDER}, unless --database-url or DATABASE_URL names another one;
applies the schema; runs the handlers of the config. Ctrl-C stops all of it. The data stays for the next time.`,
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
      await untilStopped(call, { path, databaseUrl: given ?? postgres!.url, postgres, signals });
    } finally {
      await postgres?.stop();
      signals.release();
    }
    return 0;
  },
});

interface Place {
  readonly path: string | undefined;
  readonly databaseUrl: string;
  readonly postgres: EmbeddedPostgres | undefined;
  readonly signals: Signals;
}

async function untilStopped(call: Call<WorkerFlags, []>, place: Place): Promise<void> {
  const { options, out } = call;
  const { databaseUrl, path } = place;
  const config = path === undefined ? undefined : await loadConfigFor(databaseUrl, path);
  const schema = schemaSaid(options) ?? config?.settings.schema;
  const applied = await withClient({ databaseUrl, schema }, (client) => client.migrate());
  const worker =
    config?.settings.handlers?.length || config?.settings.channels?.length
      ? await workerFrom(config, options, { databaseUrl, schema }, out)
      : undefined;
  await worker?.start();
  const facts = { databaseUrl: shownUrl(databaseUrl), embedded: place.postgres !== undefined, applied };
  out.result({ ...facts, worker: worker?.id ?? null }, wordsOf(place, config, applied));
  await place.signals.first;
  await worker?.stop();
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

function wordsOf({ databaseUrl, path, postgres }: Place, config: LoadedConfig | undefined, applied: readonly string[]) {
  const folder = relative(process.cwd(), join(path === undefined ? process.cwd() : dirname(path), EMBEDDED_FOLDER));
  const lines = [`Database  ${shownUrl(databaseUrl)}`];
  if (postgres) {
    const whose = postgres.adopted ? "run by another process here" : `data in ${folder}`;
    lines[0] += `  (PostgreSQL ${postgres.version}, ${whose})`;
    lines.push(`App       export DATABASE_URL="$(node -p 'require("./${folder}/connection.json").url')"`);
    const ofConfig = config?.settings.databaseUrl;
    if (ofConfig !== undefined && ofConfig !== databaseUrl)
      lines.push("Note      the config's databaseUrl is not used: dev takes its own PostgreSQL or DATABASE_URL");
  }
  lines.push(`Schema    ${applied.length === 0 ? "up to date" : "brought up to date"}`);
  if (config === undefined) lines.push(`Worker    none: there is no ${CONFIG_NAMES[0]} here or above`);
  else if (!config.settings.handlers?.length && !config.settings.channels?.length)
    lines.push(`Worker    none: ${shownPath(config.path)} has no handlers`);
  lines.push("Ctrl-C stops everything.");
  return lines.join("\n");
}
