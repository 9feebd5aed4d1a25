// Loads the module that holds a pool's handlers, by Node's own means: in the supervisor once, and in each child.
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../../base/errors.js";

export async function loadModule<Config extends object>(path: string): Promise<Config> {
  if (!existsSync(path)) throw new ConfigError("module", `module: there is no file ${path}.`);
  const { default: config } = (await import(pathToFileURL(path).href)) as { default?: Config };
  if (typeof config === "object" && config !== null) return config;
  throw new ConfigError(
    "module",
    `module: ${path} has no default export of settings. Write: export default defineConfig({ handlers: [ … ] })`,
  );
}
