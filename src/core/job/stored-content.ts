// The seam for contents that are too large for a row: they lie in a storage, and the row has a reference. This file knows what a reference is; what puts
// contents there and fetches them is `src/offload`.
import { PAYLOAD_BYTES_MAX } from "../../base/json-content.js";
import type { Claim } from "./claim.js";
import { type Codec, openJson, type SealContext } from "./codec.js";
import { type ContentReference, isStored } from "./content-reference.js";
import type { NewJob } from "./enqueue-options.js";
import { ContentElsewhereError } from "./stored-content-errors.js";

export interface ContentStore {
  /** Bytes of JSON above which a content goes to the storage, and those that it may have there. */
  readonly above: number;
  readonly bytesMax: number;
  /** The job, with a reference where its payload is too large for the row. */
  keepPayload(job: NewJob): NewJob | Promise<NewJob>;
  /** The same for many. */
  keepPayloads(jobs: NewJob[]): NewJob[] | Promise<NewJob[]>;
  /** Whether a result of this JSON goes to the storage. */
  isLarge(json: string): boolean;
  /** Puts the JSON of a result into the storage. */
  putResult(claim: Claim, json: string): Promise<ContentReference>;
  /** What lies there, parsed. Throws when it cannot be had. */
  fetch(reference: ContentReference, tenant: string): Promise<unknown>;
}

/** Bytes of JSON that an input may have. */
export const inputBytesMax = (store: ContentStore | undefined): number => store?.bytesMax ?? PAYLOAD_BYTES_MAX;

export const keepPayload = (store: ContentStore | undefined, job: NewJob): NewJob | Promise<NewJob> =>
  store === undefined ? job : store.keepPayload(job);

/** The content that a reference stands for. Without this storage it cannot be had. */
export function fetchContent(
  store: ContentStore | undefined,
  reference: ContentReference,
  tenant: string,
  what: string,
): Promise<unknown> {
  if (store === undefined) throw new ContentElsewhereError(what, reference.storage);
  return store.fetch(reference, tenant);
}

/** What was stored and perhaps sealed: fetched and opened. A payload's reference is bare; that of a result is sealed as a result is. */
export async function openContent(
  { codec, contents }: { readonly codec: Codec | undefined; readonly contents: ContentStore | undefined },
  stored: unknown,
  of: Pick<SealContext, "kind" | "tenant">,
  what: SealContext["what"],
): Promise<unknown> {
  if (isStored(stored)) return openJson(codec, await fetchContent(contents, stored, of.tenant, what), of, what);
  const opened = openJson(codec, stored, of, what);
  return isStored(opened) && codec !== undefined
    ? openJson(codec, await fetchContent(contents, opened, of.tenant, what), of, what)
    : opened;
}
