// A transaction of the caller, as far as Fairmill needs it.

/** What a caller's transaction must offer: `pg`'s clients and pools do, and so do our adapters. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}
