// The statements of caches.
import type { Session } from "../db/session.js";

export interface Taken {
  readonly answer: "hit" | "load" | "wait";
  /** JSON text; null where there is no hit. */
  readonly value: string | null;
  readonly inMs: number;
}

const TAKE = `select answer, value::text as value, in_ms as "inMs" from fairmill.take_cached_v1($1, $2, $3, $4)`;
const STORE = "select fairmill.store_cached_v1($1, $2, $3, $4, $5, $6) as stored";
const FORGET = "select fairmill.forget_cached_v1($1, $2, $3) as count";

export interface EntryOf {
  readonly name: string;
  readonly key: string;
}

export async function takeCached(db: Session, { name, key }: EntryOf, loader: string, loadMs: number): Promise<Taken> {
  const [row] = await db.query<Taken>(TAKE, [name, key, loader, Math.round(loadMs)]);
  return row!;
}

export async function storeCached(
  db: Session,
  { name, key }: EntryOf,
  loader: string,
  json: string,
  { ttlMs, entriesMax }: { readonly ttlMs: number; readonly entriesMax: number },
): Promise<boolean> {
  const [row] = await db.query<{ stored: boolean }>(STORE, [name, key, loader, json, Math.round(ttlMs), entriesMax]);
  return row?.stored === true;
}

/** `loader`: only gives up what this call was to load. */
export async function forgetCached(db: Session, name: string, key?: string, loader?: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(FORGET, [name, key ?? null, loader ?? null]);
  return row?.count ?? 0;
}
