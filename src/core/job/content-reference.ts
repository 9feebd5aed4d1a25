// What stands in a row instead of a payload or a result that lies in a storage.

/** The member by which a reference is known; its value is the version of the form. */
export const STORED = "fairmill:stored";

/** What stands in a row instead of a payload or a result. */
export interface ContentReference {
  readonly [STORED]: 1;
  /** The name of the storage. */
  readonly storage: string;
  readonly key: string;
  /** Of the JSON that lies there. */
  readonly bytes: number;
}

/** Where a content lies: what is noted of it beside its job. */
export type ContentPlace = Pick<ContentReference, "storage" | "key">;

export const isStored = (value: unknown): value is ContentReference =>
  typeof value === "object" && value !== null && Object.hasOwn(value, STORED);
