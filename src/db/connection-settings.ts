// How to connect: from an address, or as a pool of the caller's does.
import { ConfigError } from "../base/errors.js";

/** Statements that got no answer in this time have lost their connection: a half-open one would otherwise hold their caller for ever. */
export const ANSWER_MS_MAX = 60_000;
const CONNECT_MS_MAX = 10_000;
const SETTINGS = ["host", "port", "user", "password", "database", "connectionString", "options"];

export const settingsOfUrl = (url: string) => ({
  connectionString: url,
  connectionTimeoutMillis: CONNECT_MS_MAX,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/** Plain values only, for a thread that opens a connection itself: functions do not cross over to it. */
export function plainSettings(options: Record<string, unknown>): Record<string, unknown> {
  if (typeof options["password"] === "function")
    throw new ConfigError(
      "db",
      "db: a pool whose password is a function does not do for a worker; pass databaseUrl instead.",
    );
  const settings = Object.fromEntries(SETTINGS.map((name) => [name, options[name]]));
  return { ...settings, ssl: plain(options["ssl"]) };
}

/** TLS settings without their functions. */
const plain = (ssl: unknown): unknown =>
  typeof ssl === "object" && ssl !== null
    ? Object.fromEntries(Object.entries(ssl).filter(([, value]) => typeof value !== "function"))
    : ssl;
