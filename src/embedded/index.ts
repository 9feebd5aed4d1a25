// An embedded PostgreSQL for development and tests: a real server in a folder of the project, gone when the process is gone.

export type { EmbeddedPostgres } from "./embedded-postgres.js";
export { EmbeddedMissingError, EmbeddedStartError } from "./errors.js";
export {
  type EmbeddedOptions,
  readEmbeddedUrl,
  removeEmbedded,
  startEmbedded,
  stopEmbedded,
} from "./start-embedded.js";
