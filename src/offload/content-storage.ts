// What payloads and results that are too large for their rows need of a storage.

/** What is needed of a storage: `defineStorage(…)` of fairmill/storage fits. */
export interface ContentStorage {
  readonly name: string;
  put(
    key: string,
    body: Uint8Array,
    options: { readonly contentType: string; readonly cacheControl: string },
  ): Promise<unknown>;
  get(key: string): Promise<{ readonly body: Uint8Array } | undefined>;
  delete(key: string): Promise<unknown>;
  list(options: {
    readonly prefix?: string;
    readonly after?: string;
    readonly limit?: number;
  }): Promise<readonly { readonly key: string; readonly modifiedAt: Date }[]>;
}

export interface OffloadOptions {
  /** Where payloads and results go that are too large for their rows. All processes must see the same. */
  readonly storage: ContentStorage;
  /** Bytes of JSON above which they do; default 256 KiB, at most 1 MiB. */
  readonly above?: number;
  /** Bytes of JSON that a payload or a result may have; default 64 MiB. */
  readonly max?: number;
}

export type OffloadSettings = Required<OffloadOptions>;
