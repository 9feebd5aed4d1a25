// The version of this package, as package.json says.
import { createRequire } from "node:module";

export const VERSION = (createRequire(import.meta.url)("../../package.json") as { version: string }).version;
