// An embedded PostgreSQL for development and tests: a real server in a folder of the project, gone when the process is gone.

export { EmbeddedMissingError, EmbeddedStartError } from "./errors.js";
export {
  type EmbeddedOptions,
  type EmbeddedPostgres,
  readEmbeddedUrl,
  removeEmbedded,
  startEmbedded,
  stopEmbedded,
} from "./start-embedded.js";
