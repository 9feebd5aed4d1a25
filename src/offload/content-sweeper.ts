// A service of workers: removes files of payloads and results whose jobs are gone, whatever removed them (retention, an erasure, a statement), and files whose
// jobs never came. Workers share the work: what one looks at, the others leave out.
import type { Clock } from "../base/clock.js";
import type { Service } from "../base/service.js";
import type { Session } from "../db/session.js";
import { CONTENTS_PREFIX } from "./content-place.js";
import type { ContentStorage } from "./content-storage.js";
import { checkContents, forgetContents, unknownContents } from "./offload-statements.js";

/** How often a worker looks for files without jobs, and how long after their jobs they stay. */
const SWEEP = { everyMs: 60_000, pageFiles: 500, keepMs: 600_000, strayEveryMs: 600_000, strayMs: 86_400_000 };
/** Removals under way at once. */
const AT_ONCE = 8;

export interface SweeperContext {
  readonly db: Session;
  readonly clock: Clock;
}

export class ContentSweeper implements Service {
  readonly name = "sweeping contents";
  readonly retry = { firstMs: 1_000, maxMs: 300_000 };
  readonly #context: SweeperContext;
  readonly #storage: ContentStorage;
  readonly #pace: typeof SWEEP;
  /** The last key of the page of files that was looked through for strays. */
  #after: string | undefined;
  #strayAtMs = Number.NEGATIVE_INFINITY;
  #hasBegun = false;

  constructor(context: SweeperContext, storage: ContentStorage, pace: Partial<typeof SWEEP> = {}) {
    this.#context = context;
    this.#storage = storage;
    this.#pace = { ...SWEEP, ...pace };
  }

  async runOnce(): Promise<number> {
    const { clock } = this.#context;
    const { everyMs, pageFiles, strayEveryMs } = this.#pace;
    // Workers that start together should not look together.
    const laterMs = everyMs * (0.5 + clock.random() / 2);
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return laterMs;
    }
    if ((await this.sweep()) === pageFiles) return 0;
    if (clock.monotonic() >= this.#strayAtMs) {
      await this.sweepStrays();
      this.#strayAtMs = clock.monotonic() + strayEveryMs;
    }
    return laterMs;
  }

  /** Files whose jobs are gone. How many were looked at. */
  async sweep(): Promise<number> {
    const { db } = this.#context;
    const { name } = this.#storage;
    const { pageFiles, keepMs } = this.#pace;
    const { gone, looked } = await checkContents(db, name, pageFiles, keepMs);
    if (gone.length === 0) return looked;
    await this.#remove(gone.filter(({ isLast }) => isLast).map(({ key }) => key));
    await forgetContents(db, name, gone);
    return looked;
  }

  /** Of the next page of files those that belong to no job and are older than any transaction. How many were removed. */
  async sweepStrays(): Promise<number> {
    const { db, clock } = this.#context;
    const { pageFiles: limit, strayMs } = this.#pace;
    const after = this.#after;
    const page = await this.#storage.list({ prefix: CONTENTS_PREFIX, limit, ...(after !== undefined && { after }) });
    this.#after = page.length < limit ? undefined : page.at(-1)!.key;
    const old = page.filter(({ modifiedAt }) => clock.now() - modifiedAt.getTime() > strayMs).map(({ key }) => key);
    if (old.length === 0) return 0;
    const strays = await unknownContents(db, this.#storage.name, old);
    await this.#remove(strays);
    return strays.length;
  }

  async #remove(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += AT_ONCE)
      await Promise.all(keys.slice(from, from + AT_ONCE).map((key) => this.#storage.delete(key)));
  }
}
