// Signature version 4 of Amazon S3, which all compatible services understand: headers for a request, or a query for an address that ends.
import { createHash, createHmac } from "node:crypto";
import { escapeUrl } from "./storage-key.js";

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region: string;
}

interface Request {
  readonly method: string;
  /** With its path escaped as it is to be sent. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, or UNSIGNED-PAYLOAD. */
  readonly bodyHash: string;
}

const ALGORITHM = "AWS4-HMAC-SHA256";
const UNSIGNED = "UNSIGNED-PAYLOAD";

export const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** All headers to send, the signature among them. */
export function signHeaders(
  { accessKeyId, secretAccessKey, sessionToken, region }: S3Credentials,
  request: Omit<Request, "bodyHash"> & { readonly body: string | Uint8Array },
  now: Date,
): Record<string, string> {
  const bodyHash = sha256(request.body);
  const stamp = stampOf(now);
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    "x-amz-content-sha256": bodyHash,
    "x-amz-date": stamp,
    ...(sessionToken === undefined ? {} : { "x-amz-security-token": sessionToken }),
  };
  const { scope, signature, signed } = sign({ ...request, headers, bodyHash }, secretAccessKey, region, stamp);
  const { host: _, ...sent } = headers;
  return {
    ...sent,
    authorization: `${ALGORITHM} Credential=${accessKeyId}/${scope},SignedHeaders=${signed},Signature=${signature}`,
  };
}

/** The address with everything in its query that a caller without credentials needs. */
export function signUrl(
  { accessKeyId, secretAccessKey, sessionToken, region }: S3Credentials,
  method: string,
  url: URL,
  expiresSeconds: number,
  now: Date,
): string {
  const stamp = stampOf(now);
  const signed = new URL(url);
  const query: Record<string, string> = {
    "X-Amz-Algorithm": ALGORITHM,
    "X-Amz-Credential": `${accessKeyId}/${scopeOf(stamp, region)}`,
    "X-Amz-Date": stamp,
    "X-Amz-Expires": String(expiresSeconds),
    ...(sessionToken === undefined ? {} : { "X-Amz-Security-Token": sessionToken }),
    "X-Amz-SignedHeaders": "host",
  };
  for (const [name, value] of Object.entries(query)) signed.searchParams.set(name, value);
  const { signature } = sign(
    { method, url: signed, headers: { host: url.host }, bodyHash: UNSIGNED },
    secretAccessKey,
    region,
    stamp,
  );
  return `${url.origin}${url.pathname}?${canonicalQuery(signed.searchParams)}&X-Amz-Signature=${signature}`;
}

function sign(
  request: Request,
  secret: string,
  region: string,
  stamp: string,
): { scope: string; signature: string; signed: string } {
  const names = Object.keys(request.headers).sort();
  const signed = names.join(";");
  const canonical = [
    request.method,
    request.url.pathname,
    canonicalQuery(request.url.searchParams),
    ...names.map((name) => `${name}:${request.headers[name]!.trim().replace(/ +/g, " ")}`),
    "",
    signed,
    request.bodyHash,
  ].join("\n");
  const scope = scopeOf(stamp, region);
  const day = hmac(`AWS4${secret}`, stamp.slice(0, 8));
  const key = hmac(hmac(hmac(day, region), "s3"), "aws4_request");
  return {
    scope,
    signed,
    signature: hmac(key, `${ALGORITHM}\n${stamp}\n${scope}\n${sha256(canonical)}`).toString("hex"),
  };
}

const scopeOf = (stamp: string, region: string): string => `${stamp.slice(0, 8)}/${region}/s3/aws4_request`;

const stampOf = (now: Date): string => `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;

const canonicalQuery = (query: URLSearchParams): string =>
  [...query]
    .map(([name, value]) => [escapeUrl(name), escapeUrl(value)] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
