// Which database a command works on, and in which schema.
import { dirname, join } from "node:path";
import { FairmillError } from "../base/errors.js";
import type { Client } from "../client/client.js";
import type { Database } from "../db/database.js";
import { DEFAULT_SCHEMA } from "../db/schema-name.js";
import { recordCommand } from "./acting.js";
import { databaseUrl as checkUrl, given, schemaName } from "./arguments.js";
import type { GlobalOptions } from "./command.js";
import { exists, findConfig, foldersUpwards, type LoadedConfig, loadConfig } from "./config-file.js";
import { UsageError } from "./failure.js";
import { manyLines } from "./text.js";

/** Where `fairmill dev` keeps its PostgreSQL, in the project's folder. */
export const EMBEDDED_FOLDER = join(".fairmill", "postgres");

export interface Target {
  readonly databaseUrl: string;
  readonly schema: string | undefined;
  /** Undefined when there is none, or when it was not needed. */
  readonly config: LoadedConfig | undefined;
  /** There is a config, and it could not be loaded: what it says must not be shown is not known. */
  readonly isConfigBroken: boolean;
}

/**
 * What a command wants of the config beyond address and schema. "handlers": what only the config knows, so that it cannot do without.
 * "codec": it shows contents, and the config says how to open them and what of them must not be shown.
 */
export type ConfigUse = "handlers" | "codec" | "nothing";

/**
 * The command line decides, then the environment, then the config, then a server of `fairmill dev` that runs here. A config is
 * a program with side effects: it is loaded only when it is wanted, or when address or schema are still open. One that is broken
 * must not keep people from looking at their jobs.
 */
export async function findTarget(options: GlobalOptions, use: ConfigUse = "nothing"): Promise<Target> {
  const said = options.databaseUrl ?? urlOfEnvironment();
  const schema = schemaSaid(options);
  const isOpen = said === undefined || schema === undefined || options.config !== undefined;
  const path = use !== "nothing" || isOpen ? await findConfig(options.config) : undefined;
  const running = said === undefined ? await runningEmbedded(path) : undefined;
  const isVital = use === "handlers" || (said ?? running) === undefined;
  const load = () => (path === undefined ? undefined : loadConfigFor(said ?? running, path));
  let isConfigBroken = false;
  const config = isVital
    ? await load()
    : await load()?.catch((error) => {
        isConfigBroken = true;
        return doWithout(error, schema, use);
      });
  const databaseUrl = said ?? config?.settings.databaseUrl ?? running;
  if (databaseUrl === undefined)
    throw new UsageError(
      "There is no database to work on: pass --database-url, set DATABASE_URL, or start one with `fairmill dev`.",
    );
  return { databaseUrl, schema: schema ?? config?.settings.schema, config, isConfigBroken };
}

function doWithout(error: unknown, schema: string | undefined, use: ConfigUse): undefined {
  if (!(error instanceof FairmillError)) throw error;
  const where = schema === undefined ? `; the schema is "${DEFAULT_SCHEMA}" unless --schema names another one` : "";
  const hidden = use === "codec" ? " Payloads, results and errors are not shown; --no-config shows them." : "";
  process.stderr.write(`Note: going on without the config${where}. ${manyLines(error.message)}${hidden}\n`);
  return undefined;
}

/** Code of the project that calls `createClient()` while it is loaded reaches the same database as the command. */
export async function loadConfigFor(
  databaseUrl: string | undefined,
  path: string,
  onFile?: (file: string) => void,
): Promise<LoadedConfig> {
  if (databaseUrl !== undefined) process.env["DATABASE_URL"] = databaseUrl;
  return await loadConfig(path, onFile);
}

export function urlOfEnvironment(): string | undefined {
  const url = process.env["DATABASE_URL"];
  return url ? checkUrl("DATABASE_URL")(url) : undefined;
}

export function schemaSaid(options: GlobalOptions): string | undefined {
  const ofEnvironment = process.env["FAIRMILL_SCHEMA"];
  return options.schema ?? (ofEnvironment ? schemaName(ofEnvironment) : undefined);
}

async function runningEmbedded(configPath: string | undefined): Promise<string | undefined> {
  const starts = configPath === undefined ? [process.cwd()] : [dirname(configPath), process.cwd()];
  for (const start of starts)
    for (const folder of foldersUpwards(start)) {
      const dataDir = join(folder, EMBEDDED_FOLDER);
      if (!(await exists(dataDir))) continue;
      const { readEmbeddedUrl } = await import("../embedded/index.js");
      const url = await readEmbeddedUrl(dataDir);
      if (url !== undefined) return url;
    }
  return undefined;
}

/** Runs `work` with a client of the target's database, and closes it whatever happens. */
export async function withClient<T>(
  target: Pick<Target, "databaseUrl" | "schema"> & Partial<Target>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { databaseUrl, schema, config } = target;
  // Loaded when it is needed: what is refused before that, and help, come at once.
  const { createClient } = await import("../client/client.js");
  const { codec, offload, use } = config?.settings ?? {};
  const client = createClient({ databaseUrl, connectionsMax: 2, ...given({ schema, codec, offload, use }) });
  try {
    await recordCommand({ databaseUrl, schema });
    return await work(client);
  } finally {
    await client.close();
  }
}

/** The address without password and parameters, to be shown. */
export function shownUrl(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return "(a PostgreSQL on a local socket)";
  const { protocol, username, host, pathname } = new URL(databaseUrl);
  return `${protocol}//${username ? `${username}@` : ""}${host}${pathname}`;
}

/** The same for a command that needs no client. */
export async function withDatabase<T>(
  { databaseUrl, schema }: Pick<Target, "databaseUrl" | "schema">,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const [{ Database }, { explaining }] = await Promise.all([
    import("../db/database.js"),
    import("../db/explain-failure.js"),
  ]);
  const db = new Database(
    { databaseUrl, ...given({ schema }) },
    { connectionsMax: 2, applicationName: "fairmill cli" },
  );
  try {
    return await explaining(db.schema, () => work(db));
  } finally {
    await db.close();
  }
}
