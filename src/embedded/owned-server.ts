// The handle of a server that this process started: stops it, and starts it again at the same address.

import { endServer } from "./adopt-server.js";
import { deadlineIn, settlesBefore } from "./deadline.js";
import type { EmbeddedPostgres } from "./embedded-postgres.js";
import { EmbeddedStartError } from "./errors.js";
import { findRunningServer } from "./postmaster-file.js";
import type { StopMode } from "./server-process.js";
import { withStartClaim } from "./start-claim.js";
import { type ServerStart, type StartedServer, startServer } from "./start-server.js";

/** Longer than the guardian takes to give up and kill. */
const STOP_WAIT_MS = 90_000;

export class OwnedServer implements EmbeddedPostgres {
  readonly adopted = false;
  readonly url: string;
  readonly binDir: string;
  readonly version: string;
  readonly dataDir: string;
  readonly #start: ServerStart;
  #running: StartedServer | undefined;
  /** Stops and restarts happen one after the other, in the order they were asked for. */
  #last: Promise<void> = Promise.resolve();

  constructor(start: ServerStart, running: StartedServer) {
    this.#start = { ...start, port: running.port, portFixed: true };
    this.#running = running;
    this.url = running.url;
    this.binDir = start.binaries.binDir;
    this.version = start.binaries.version;
    this.dataDir = start.dataHome.clusterDir;
  }

  stop(mode: StopMode = "fast"): Promise<void> {
    return this.#afterLast(() => this.#stop(mode));
  }

  restart(): Promise<void> {
    return this.#afterLast(async () => {
      await this.#stop("fast");
      await withStartClaim(this.#start.dataDir, async () => {
        if ((await findRunningServer(this.dataDir)) !== undefined)
          throw this.#failure("was started by another process");
        this.#running = await startServer(this.#start);
      });
    });
  }

  #afterLast(work: () => Promise<void>): Promise<void> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  async #stop(mode: StopMode): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    const asked = running.process.stop(mode);
    if (!(await settlesBefore(deadlineIn(STOP_WAIT_MS), asked))) throw this.#failure("does not stop");
    // No guardian (or it was killed): the server's own file says which process to ask.
    if (!(await asked) && !(await endServer(this.dataDir, mode))) throw this.#failure("does not stop");
  }

  #failure(what: string): EmbeddedStartError {
    return new EmbeddedStartError(`The PostgreSQL on ${this.dataDir} ${what}.`, {
      advice: `Look at server.log in ${this.#start.dataDir}.`,
    });
  }
}
