// Puts payloads and results that are too large for their rows into a storage, and fetches them. The file is there before the row that names it; a file
// whose row never came is found later (`content-sweeper.ts`).
import { reasonOf } from "../base/settings.js";
import type { Claim } from "../core/job/claim.js";
import { type ContentReference, STORED } from "../core/job/content-reference.js";
import type { NewJob } from "../core/job/enqueue-options.js";
import type { ContentStore } from "../core/job/stored-content.js";
import { ContentElsewhereError, ContentStorageError } from "../core/job/stored-content-errors.js";
import { isIntact, isOfTenant, newKey } from "./content-place.js";
import type { OffloadSettings } from "./content-storage.js";

/** Files that a list of jobs puts at once. */
const AT_ONCE = 8;

export class FileContents implements ContentStore {
  readonly above: number;
  readonly bytesMax: number;
  readonly storage: OffloadSettings["storage"];

  constructor({ storage, above, max }: OffloadSettings) {
    this.storage = storage;
    this.above = above;
    this.bytesMax = max;
  }

  keepPayload(job: NewJob): NewJob | Promise<NewJob> {
    return this.#isLarge(job.payload) ? this.#putPayload(job) : job;
  }

  keepPayloads(jobs: NewJob[]): NewJob[] | Promise<NewJob[]> {
    return jobs.some(({ payload }) => this.#isLarge(payload)) ? this.#putPayloads(jobs) : jobs;
  }

  async #putPayloads(jobs: readonly NewJob[]): Promise<NewJob[]> {
    const kept: NewJob[] = [];
    for (let from = 0; from < jobs.length; from += AT_ONCE)
      kept.push(...(await Promise.all(jobs.slice(from, from + AT_ONCE).map((job) => this.keepPayload(job)))));
    return kept;
  }

  async #putPayload(job: NewJob): Promise<NewJob> {
    const reference = await this.#put(job.tenant, "payload", job.payload);
    const { storage, key } = reference;
    return { ...job, payload: JSON.stringify(reference), content: { storage, key } };
  }

  putResult(claim: Claim, json: string): Promise<ContentReference> {
    return this.#put(claim.tenant, "result", json);
  }

  async #put(tenant: string, what: "payload" | "result", json: string): Promise<ContentReference> {
    const { name } = this.storage;
    const key = newKey(tenant, what, json);
    const body = Buffer.from(json);
    try {
      await this.storage.put(key, body, { contentType: "application/json", cacheControl: "private, no-store" });
    } catch (error) {
      const message = `The ${what} of ${body.byteLength} bytes could not be put into storage "${name}": ${reasonOf(error)}`;
      throw new ContentStorageError(name, message, { cause: error });
    }
    return { [STORED]: 1, storage: name, key, bytes: body.byteLength };
  }

  async fetch({ storage, key }: ContentReference, tenant: string): Promise<unknown> {
    const { name } = this.storage;
    if (storage !== name) throw new ContentElsewhereError("content", storage);
    // Whatever wrote the row: a job sees contents of its own tenant only.
    if (!isOfTenant(key, tenant))
      throw new ContentStorageError(
        name,
        `The reference names a file in storage "${name}" that is not of this tenant.`,
      );
    const body = await this.#read(key);
    if (!isIntact(key, body))
      throw new ContentStorageError(name, `The file "${key}" in storage "${name}" is not what was put there.`);
    return JSON.parse(Buffer.from(body).toString());
  }

  async #read(key: string): Promise<Uint8Array> {
    const { name } = this.storage;
    let file: { readonly body: Uint8Array } | undefined;
    try {
      file = await this.storage.get(key);
    } catch (error) {
      const message = `The file "${key}" could not be read from storage "${name}": ${reasonOf(error)}`;
      throw new ContentStorageError(name, message, { cause: error });
    }
    if (file !== undefined) return file.body;
    throw new ContentStorageError(
      name,
      `The file "${key}" is not in storage "${name}". Does this process see the same folder or bucket as the one that put it there?`,
    );
  }

  #isLarge(json: string): boolean {
    // A character has three bytes at most.
    return json.length > this.above / 3 && Buffer.byteLength(json) > this.above;
  }

  /** Whether a result of this JSON goes to the storage. */
  isLarge(json: string): boolean {
    return this.#isLarge(json);
  }
}
