// The handle of a running embedded server, owned or adopted.
import type { StopMode } from "./server-process.js";

export interface EmbeddedPostgres {
  /** The superuser's URL, password included. It stays the same over `restart()`. */
  readonly url: string;
  /** True when another process started the server: then `stop()` leaves it running. */
  readonly adopted: boolean;
  readonly binDir: string;
  /** PostgreSQL's own version, for example "18.4". */
  readonly version: string;
  /** Where the cluster really lies. */
  readonly dataDir: string;
  /** "immediate" is a crash on purpose: the next start recovers. Stopping twice is fine. */
  stop(mode?: StopMode): Promise<void>;
  /** Starts the server again on the same port, after a stop or instead of one. */
  restart(): Promise<void>;
}
