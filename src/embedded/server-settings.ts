// The settings a server is started with, as `-c name=value`: what we need, what is sensible, and what the caller adds.

import { ConfigError } from "../base/errors.js";

/** Settings that the launcher decides, because the URL or the safety of the data depends on them. */
const OURS = ["port", "listen_addresses", "data_directory", "hba_file", "external_pid_file"];

const SENSIBLE = {
  max_connections: "200",
  shared_buffers: "128MB",
  unix_socket_directories: "",
  // The role has the name of our schema: by PostgreSQL's default, tables of the application would be made in it.
  search_path: "public",
};

/** For tests: a crash of the machine may lose the cluster, a crash of the server the commits of the last second. */
const NOT_DURABLE = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

export function checkSettings(settings: Record<string, string>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (!/^[A-Za-z_][\w.]*$/.test(name)) throw new ConfigError("settings", `"${name}" is not the name of a setting.`);
    if (OURS.includes(name.toLowerCase())) {
      throw new ConfigError(
        "settings",
        `The setting "${name}" is chosen by the embedded PostgreSQL and cannot be given.`,
      );
    }
    if (typeof value !== "string" || value.includes("\0")) {
      throw new ConfigError("settings", `The value of the setting "${name}" must be a string.`);
    }
  }
}

export function serverArguments(server: {
  clusterDir: string;
  port: number;
  durable: boolean;
  settings: Record<string, string>;
}): string[] {
  const all: Record<string, string> = {
    ...SENSIBLE,
    ...(server.durable ? {} : NOT_DURABLE),
    ...server.settings,
    listen_addresses: "127.0.0.1",
    port: String(server.port),
  };
  return ["-D", server.clusterDir, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
