// Signatures of addresses that a folder storage gives out: the key, what may be done, and until when, under one secret.
import { createHmac, timingSafeEqual } from "node:crypto";

export interface SignedPath {
  readonly key: string;
  readonly method: "GET" | "PUT";
  readonly expiresAtMs: number;
}

const signatureOf = (secret: string, { key, method, expiresAtMs }: SignedPath): string =>
  createHmac("sha256", secret).update(`${method}\n${expiresAtMs}\n${key}`).digest("base64url");

/** The query that makes the address of a file a signed one. */
export const signedQuery = (secret: string, path: SignedPath): string =>
  new URLSearchParams({
    expires: String(path.expiresAtMs),
    ...(path.method === "GET" ? {} : { method: path.method }),
    signature: signatureOf(secret, path),
  }).toString();

/** Whether the query allows this, now. */
export function isSigned(
  secret: string,
  key: string,
  method: "GET" | "PUT",
  query: URLSearchParams,
  nowMs: number,
): boolean {
  const expiresAtMs = Number(query.get("expires"));
  const given = Buffer.from(query.get("signature") ?? "");
  const wanted = Buffer.from(signatureOf(secret, { key, method, expiresAtMs }));
  const fits = given.length === wanted.length && timingSafeEqual(given, wanted);
  return fits && (query.get("method") ?? "GET") === method && Number.isSafeInteger(expiresAtMs) && expiresAtMs > nowMs;
}
