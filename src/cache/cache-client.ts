// `client.cache`: entries from the memory of this process, else from the database, else loaded by one of all the processes that ask.
//
//  1. Memory answers while it is young; callers of one process that ask for the same entry share one look.
//  2. The database answers with a fresh value, or tells one caller of the fleet to load it, the others to wait.
//  3. The call that loads stores the value; when it fails or its process dies, another one loads.
import { randomUUID } from "node:crypto";
import { type Clock, sleep } from "../base/clock.js";
import { ConfigError, InputInvalidError } from "../base/errors.js";
import { isBadText, serializeResult } from "../base/json-content.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { type Cache, isCache } from "./cache-definition.js";
import { CacheLoadError, CacheTimeoutError } from "./cache-errors.js";
import { forgetCached, storeCached, type Taken, takeCached } from "./cache-statements.js";
import { Memory } from "./memory.js";

/** Between two looks at what another process loads. */
const LOOK_MS = { first: 10, most: 250, factor: 1.5 };
const KEY_BYTES_MAX = 500;
/** Entries that one statement forgets, as `forget_cached_v1` says. */
const FORGOTTEN_MAX = 1_000;

export class Caches {
  readonly #context: ClientContext;
  readonly #clock: Clock;
  readonly #memories = new Map<string, Memory>();
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(context: ClientContext) {
    this.#context = context;
    this.#clock = context.clock;
  }

  /** The entry of a key, loaded if no process has a fresh one. The value is JSON: a Date comes back as a text. Do not change it. */
  async get<Value>(cache: Cache<Value>, key: string): Promise<Value> {
    checkKey(cache, key);
    const remembered = this.#memory(cache).get(key, this.#clock.monotonic());
    if (remembered) return remembered.value as Value;
    const name = `${cache.name}\0${key}`;
    const shared = this.#underWay.get(name);
    if (shared) return shared as Promise<Value>;
    const look = this.#context
      .during(() => this.#look(cache, key))
      .finally(() => {
        if (this.#underWay.get(name) === look) this.#underWay.delete(name);
      });
    this.#underWay.set(name, look);
    return look as Promise<Value>;
  }

  /** Forgets one entry: the next call loads it. Other processes may answer from their memory for up to `memoryFor`. */
  async delete<Value>(cache: Cache<Value>, key: string): Promise<void> {
    checkKey(cache, key);
    await this.#context.call(() => forgetCached(this.#context, cache.name, key));
    // Afterwards: a look that began before may bring what was just forgotten, and is neither shared nor remembered.
    this.#memory(cache).delete(key);
    this.#underWay.delete(`${cache.name}\0${key}`);
  }

  /** Forgets all entries of a cache. */
  async clear<Value>(cache: Cache<Value>): Promise<void> {
    checkCache(cache);
    await this.#context.call(async () => {
      while ((await forgetCached(this.#context, cache.name)) >= FORGOTTEN_MAX);
    });
    this.#memory(cache).clear();
    for (const name of this.#underWay.keys()) if (name.startsWith(`${cache.name}\0`)) this.#underWay.delete(name);
  }

  #memory({ name }: Cache<unknown>): Memory {
    let memory = this.#memories.get(name);
    if (memory === undefined) {
      memory = new Memory();
      this.#memories.set(name, memory);
    }
    return memory;
  }

  async #look(cache: Cache<unknown>, key: string): Promise<unknown> {
    const endMs = this.#clock.monotonic() + 2 * cache.loadTimeoutMs;
    const loader = randomUUID();
    const { generation } = this.#memory(cache);
    let pauseMs = LOOK_MS.first;
    for (;;) {
      const taken = await this.#context.explained(() =>
        takeCached(this.#context, { name: cache.name, key }, loader, cache.loadTimeoutMs),
      );
      if (taken.answer === "hit") return this.#remember(cache, key, taken, generation);
      if (taken.answer === "load") return this.#load(cache, key, loader, generation);
      if (this.#clock.monotonic() >= endMs) throw new CacheTimeoutError(cache.name, key);
      await sleep(this.#clock, Math.min(pauseMs, Math.max(1, taken.inMs)));
      pauseMs = Math.min(LOOK_MS.most, pauseMs * LOOK_MS.factor);
    }
  }

  /** Unless something was forgotten since the look began. */
  #remember(cache: Cache<unknown>, key: string, { value, inMs }: Taken, generation: number): unknown {
    const parsed: unknown = JSON.parse(value ?? "null");
    const memory = this.#memory(cache);
    const untilMs = this.#clock.monotonic() + Math.min(inMs, cache.memoryMs);
    if (memory.generation === generation) memory.set(key, parsed, untilMs, cache.entriesMax);
    return parsed;
  }

  async #load(cache: Cache<unknown>, key: string, loader: string, generation: number): Promise<unknown> {
    const { name } = cache;
    try {
      const value = await this.#loaded(cache, key);
      const { json, problem } = serializeResult(value);
      if (problem !== undefined) throw new CacheLoadError(name, key, new TypeError(problem));
      if (json === undefined) {
        await forgetCached(this.#context, name, key, loader);
        return value;
      }
      // Forgotten while it was loaded: it may be outdated, and serves this caller alone.
      const isKept = await this.#context.explained(() =>
        storeCached(this.#context, { name, key }, loader, json, cache),
      );
      const taken = { answer: "hit", value: json, inMs: cache.ttlMs } as const;
      return isKept ? this.#remember(cache, key, taken, generation) : JSON.parse(json);
    } catch (error) {
      // Another caller may try at once. When this fails too, it may after the time limit.
      await forgetCached(this.#context, name, key, loader).catch(() => {});
      throw error;
    }
  }

  async #loaded(cache: Cache<unknown>, key: string): Promise<unknown> {
    const overtime = new AbortController();
    const cancel = this.#clock.after(cache.loadTimeoutMs, () => overtime.abort(new CacheTimeoutError(cache.name, key)));
    try {
      const tooLong = new Promise<never>((_, reject) => {
        overtime.signal.addEventListener("abort", () => reject(overtime.signal.reason), { once: true });
      });
      return await Promise.race([
        tooLong,
        Promise.resolve()
          .then(() => cache.load(key, { signal: overtime.signal }))
          .catch((error: unknown) => {
            throw new CacheLoadError(cache.name, key, error);
          }),
      ]);
    } finally {
      cancel();
    }
  }
}

function checkCache(cache: Cache<unknown>): void {
  if (!isCache(cache)) throw new ConfigError("cache", "client.cache: pass what defineCache(…) returned.");
}

function checkKey(cache: Cache<unknown>, key: string): void {
  checkCache(cache);
  if (typeof key !== "string" || isBadText(key) || Buffer.byteLength(key) > KEY_BYTES_MAX)
    throw new InputInvalidError(`cache ${cache.name}`, [
      { path: "key", message: `must be a text of at most ${KEY_BYTES_MAX} bytes` },
    ]);
}
