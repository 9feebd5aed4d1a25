// Scales the children of this host.
import { readFile } from "node:fs/promises";
import type { Pool } from "../pool.js";
import type { ScaleDecision } from "./brain.js";
import { busiestOf } from "./busiest.js";
import type { ScaleTarget, TargetFacts } from "./scaler.js";

export interface LocalTargetOptions {
  readonly pool: Pool;
  readonly capacity: () => ReadonlyMap<string, number>;
  readonly hosts: () => number;
  readonly memoryBytesMax: number | undefined;
}

/** What is left to processes that are none of ours. */
const MEMORY_SHARE = 0.9;
const CGROUP_FILES = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
/** A limit that is larger is none. */
const LIMIT_BYTES_MAX = 2 ** 50;

export class LocalTarget implements ScaleTarget {
  readonly #options: LocalTargetOptions;
  #limit: Promise<number | undefined> | undefined;

  constructor(options: LocalTargetOptions) {
    this.#options = options;
  }

  async look(): Promise<TargetFacts> {
    const { pool, capacity, hosts } = this.#options;
    const { staying, serving } = pool;
    return {
      current: staying.length,
      ready: serving.length,
      ...busiestOf(serving, capacity()),
      hosts: Math.max(1, hosts()),
      memory: await this.#memory(serving.map(({ memoryBytes }) => memoryBytes).filter((bytes) => bytes > 0)),
    };
  }

  async apply({ target, reason }: ScaleDecision): Promise<void> {
    this.#options.pool.resizeTo(target, `scaled to ${target}: ${reason}`);
  }

  async #memory(used: readonly number[]): Promise<TargetFacts["memory"]> {
    this.#limit ??=
      this.#options.memoryBytesMax === undefined ? limitOfContainer() : Promise.resolve(this.#options.memoryBytesMax);
    const max = await this.#limit;
    if (max === undefined || used.length === 0) return undefined;
    const own = this.#options.memoryBytesMax === undefined ? process.memoryUsage.rss() : 0;
    return { perChild: used.reduce((sum, bytes) => sum + bytes, 0) / used.length, max: Math.max(0, max - own) };
  }
}

/** The memory that the container may have, less a tenth; undefined where there is no such limit. */
async function limitOfContainer(): Promise<number | undefined> {
  for (const file of CGROUP_FILES) {
    const text = await readFile(file, "utf8").catch(() => "");
    const bytes = Number(text.trim());
    if (text.trim() !== "" && bytes > 0 && bytes < LIMIT_BYTES_MAX) return bytes * MEMORY_SHARE;
  }
  return undefined;
}
