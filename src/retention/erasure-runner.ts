// Carries the erasure of a tenant out, step by step. Each step is a transaction that moves the cursor with its effect: whatever process calls next goes on
// where the last one ended.
import { type Clock, sleep } from "../base/clock.js";
import { FairmillError } from "../base/errors.js";
import { retrying } from "../base/retry.js";
import { isTransient } from "../db/failures.js";
import type { Session } from "../db/session.js";
import { placeOfTenant } from "../offload/content-place.js";
import { type Erasure, readErasure, recordFiles, stepErasure } from "./erasure-statements.js";

/** What erasing needs of a storage: `defineStorage(…)` of fairmill/storage fits. */
export interface ErasableStorage {
  readonly name: string;
  list(options: { prefix?: string; limit?: number }): Promise<readonly { readonly key: string }[]>;
  delete(key: string): Promise<unknown>;
}

export interface RunErasureOptions {
  readonly storages?: readonly ErasableStorage[] | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onStep?: ((erasure: Erasure) => void) | undefined;
  /** Blocks of a table in one step. */
  readonly blocksMax?: number | undefined;
}

/** Files of the tenant are still in a storage that this process was not given. */
export class ErasureStorageError extends FairmillError {
  override readonly name = "ErasureStorageError";
  constructor(id: string, storage: string) {
    super(
      "FAIRMILL_ERASURE_STORAGE",
      `Erasure ${id} has removed all rows; files are left in storage "${storage}". Call erase again and pass that storage.`,
    );
  }
}

const BLOCKS_MAX = 256;
const WAIT_MS = 250;
const FILES_PAGE = 500;
const AT_ONCE = 8;
const TRIES_MAX = 10;

/** Steps until everything is erased, or the signal aborts. */
export async function runErasure(
  db: Session,
  clock: Clock,
  id: string,
  { storages = [], signal, onStep, blocksMax = BLOCKS_MAX }: RunErasureOptions,
): Promise<Erasure> {
  const repeated = <T>(work: () => Promise<T>) =>
    retrying(work, {
      clock,
      pauses: { firstMs: 100, maxMs: 5_000 },
      mayRepeat: (error, tries) => isTransient(error) && tries < TRIES_MAX && !signal?.aborted,
    });
  const told = async () => {
    const erasure = (await repeated(() => readErasure(db, id)))!;
    onStep?.(erasure);
    return erasure;
  };
  while (!signal?.aborted) {
    const state = await repeated(() => stepErasure(db, id, blocksMax));
    const erasure = await told();
    if (state === "files") await removeFiles(db, erasure, storages, signal, repeated, told);
    else if (state === "waiting" || state === "busy") await sleep(clock, WAIT_MS, signal);
    else if (state !== "running") break;
  }
  return told();
}

/** A page is removed, then counted: a process that dies in between counts too few, and removes none twice. */
async function removeFiles(
  db: Session,
  { id, filePrefix, tenantDigest, storages: left }: Erasure,
  storages: readonly ErasableStorage[],
  signal: AbortSignal | undefined,
  repeated: <T>(work: () => Promise<T>) => Promise<T>,
  told: () => Promise<unknown>,
): Promise<void> {
  for (const name of left) {
    const storage = storages.find((one) => one.name === name);
    if (storage === undefined) throw new ErasureStorageError(id, name);
    // The tenant's own files, then its payloads and results that were too large for their rows.
    const prefixes = [filePrefix!, placeOfTenant(tenantDigest)];
    while (prefixes.length > 0 && !signal?.aborted) {
      const page = await storage.list({ prefix: prefixes[0]!, limit: FILES_PAGE });
      for (let from = 0; from < page.length; from += AT_ONCE)
        await Promise.all(page.slice(from, from + AT_ONCE).map(({ key }) => storage.delete(key)));
      if (page.length === 0) prefixes.shift();
      await repeated(() => recordFiles(db, id, name, page.length, prefixes.length === 0));
      await told();
    }
  }
}
